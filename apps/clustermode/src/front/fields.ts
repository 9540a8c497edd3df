import { z } from 'zod';
import { isStorableKey, isStorableName } from '@a2a-cluster/core';

/**
 * An object of protobuf's JSON form: a field may be spelled in camelCase or snake_case, null means that it is not
 * set, and fields that nobody knows are ignored. Only the check matters: what a shape returns is not used.
 */
export function proto(shape: z.ZodRawShape): z.ZodType<object> {
  const names = Object.keys(shape).map((name) => [name, snakeCase(name)] as const);
  const pick = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const fields = value as Readonly<Record<string, unknown>>;
    const own = (name: string): unknown =>
      Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
    return Object.fromEntries(names.map(([name, alias]) => [name, own(name) ?? own(alias)]));
  };
  return z.preprocess(pick, z.object(shape, 'must be an object'));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Any text, or not set. */
export const text = z.string('must be a string').optional();

/** A list of texts, or not set. */
export const texts = z.array(z.string('must be a string'), 'must be an array').optional();

/** True, false, or not set. */
export const flag = z.boolean('must be true or false').optional();

/** A JSON object, or not set. */
export const struct = z.record(z.string(), z.unknown(), 'must be an object').optional();

/** A whole number from 0, as a number or as its digits, or not set. */
export const count = z
  .unknown()
  .refine(isCount, 'must be a whole number, 0 or more, of at most 31 bits')
  .optional();

function isCount(value: unknown): boolean {
  if (value === undefined) return true;
  if (typeof value === 'string') return /^\d{1,9}$/.test(value);
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}

/** A name that no list of ours holds is left to the SDK; here only the type counts. */
export const enumName = z
  .union([z.string(), z.int32('must be the name of a value')], 'must be the name of a value')
  .optional();

/** A tenant, a context: a text that every database can store and compare byte for byte, or not set. */
export const name = z
  .string('must be a string')
  .refine(isStorableName, 'must be at most 191 bytes, without NUL and with no space at its end')
  .optional();

/** An id that must be there and be storable. */
export const key = z
  .string('is required and must be a string')
  .refine(isStorableKey, 'must be 1 to 191 bytes, without NUL and with no space at its end');

/** A task's id: one that cannot be stored is left to the handler, for which no such task exists. */
export const taskId = text;

/** The same where the SDK would hand on that there is none. */
export const neededTaskId = z.string('is required and must be a string');

/** An absolute URL. */
export const url = z
  .string('must be a string')
  .refine((value) => URL.canParse(value), 'must be an absolute URL');

/** The address of a webhook; which hosts are allowed is decided where it is registered. */
export const webhookUrl = z
  .string('is required and must be a string')
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    'must be an http or https URL',
  );

/** A text that will stand in an HTTP header. */
export const headerText = z
  .string('must be a string')
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must not hold characters that an HTTP header cannot')
  .optional();

/** Bytes in base64, in either alphabet. */
export const base64 = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9+/\-_]*={0,2}$/, 'must be base64')
  // One letter of a group of four holds six bits: no byte.
  .refine((value) => value.replace(/=+$/, '').length % 4 !== 1, 'must be base64');

/** Exactly one of the named fields is set. */
export function exactlyOne(names: readonly string[]): [(value: object) => boolean, string] {
  const check = (value: object): boolean =>
    names.filter((field) => (value as Readonly<Record<string, unknown>>)[field] !== undefined).length === 1;
  return [check, `must have exactly one of ${names.join(', ')}`];
}
