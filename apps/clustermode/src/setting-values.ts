import { z } from 'zod';

/** One setting of a replica: an environment variable and the flag of the same name. */
export interface Setting<Value> {
  /** Reads the text of the variable; its issues complete the sentence `<NAME> ...`. */
  readonly schema: z.ZodType<Value, string>;
  /** One line for `--help`. */
  readonly help: string;
  /** What holds when nothing is set, for `--help`. */
  readonly unset: string;
}

/** The longest time a setting may name: what a timer of the platform takes. */
const MAX_MS = 2_147_483_647;

/** A setting of its parts. */
export function of<Value>(schema: z.ZodType<Value, string>, help: string, unset: string): Setting<Value> {
  return { schema, help, unset };
}

/** A whole number between two. */
export function wholeNumber(least: number, most: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${least} to ${most}`;
  const fits = (text: string): boolean => Number(text) >= least && Number(text) <= most;
  return z
    .string()
    .refine((text) => /^\d{1,13}$/.test(text) && fits(text), message)
    .transform(Number);
}

/** A time in milliseconds, at least one. */
export function durationMs(): z.ZodType<number, string> {
  return wholeNumber(1, MAX_MS);
}

/** One of a few words. */
export function oneOf<const Words extends readonly string[]>(words: Words): z.ZodType<Words[number], string> {
  const message = `must be one of ${words.join(', ')}`;
  return z
    .string()
    .refine((text) => words.includes(text), message)
    .transform((text) => text as Words[number]);
}

/** `true` or `false`. */
export function trueOrFalse(): z.ZodType<boolean, string> {
  return oneOf(['true', 'false']).transform((word) => word === 'true');
}

/** A number of bytes, with or without a unit. */
export function byteSize(): z.ZodType<number, string> {
  const units: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
  const pattern = /^(\d{1,9})(b|kb|mb|gb)?$/i;
  return z
    .string()
    .refine((text) => Number(pattern.exec(text)?.[1]) > 0, 'must be a size such as 65536, 512kb or 1mb')
    .transform((text) => {
      const [, digits, unit = 'b'] = pattern.exec(text) ?? [];
      return Number(digits) * (units[unit.toLowerCase()] ?? 1);
    });
}

/** Words with commas between, none empty or with a space in it. */
export function listOfWords(): z.ZodType<readonly string[], string> {
  return z
    .string()
    .transform((text) => text.split(',').map((word) => word.trim()))
    .refine(
      (words) => words.every((word) => /^\S+$/.test(word)),
      'has an entry that is empty or holds a space',
    );
}
