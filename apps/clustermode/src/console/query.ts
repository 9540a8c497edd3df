import type { Request } from 'express';
import { isStorableKey, isStorableName } from '@a2a-cluster/core';
import type { FindTasks, TaskPosition } from '@a2a-cluster/db';
import { malformed, type Problem } from '../front/problem.js';
import { STATE_NAMES } from '../state-names.js';

/** What is asked is malformed; express hands it on to the fault handler of the API. */
export class BadQuestion extends Error {
  readonly problem: Problem;

  constructor(message: string) {
    super(message);
    this.problem = malformed(message);
  }
}

/** Most tasks of a page, and most events. */
export const MOST_TASKS = 200;
export const MOST_EVENTS = 500;
/** Most tasks that one page watches. */
export const MOST_WATCHED = 200;
/** A hundred years. */
const MOST_MS = 3_155_760_000_000;
/** What the column of a seq takes. */
const MOST_SEQ = 2_147_483_647;

/** The query of a request by name, in order. */
export type Query = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the query as it was sent.
 * @throws URIError when an escape is broken: decoded with replacement characters, two ids would become one.
 */
export function queryOf(req: Pick<Request, 'originalUrl'>): Query {
  const found = new Map<string, string[]>();
  const [, text = ''] = /\?(.*)$/s.exec(req.originalUrl) ?? [];
  for (const part of text.split('&').filter((piece) => piece !== '')) {
    const [name = '', ...rest] = part.split('=').map((piece) => decodeURIComponent(piece.replaceAll('+', ' ')));
    found.set(name, [...(found.get(name) ?? []), rest.join('=')]);
  }
  return found;
}

/** @throws BadQuestion */
export function taskQuestion(query: Query): Partial<FindTasks> {
  const states = query.get('state') ?? [];
  const unknown = states.find((state) => !STATE_NAMES.includes(state));
  if (unknown !== undefined) throw new BadQuestion(`state must be one of ${STATE_NAMES.join(', ')}.`);
  return given({
    states: states.length === 0 ? undefined : [...new Set(states)],
    tenant: name(query, 'tenant'),
    owner: name(query, 'owner'),
    holder: name(query, 'holder'),
    contextId: name(query, 'context'),
    olderThanMs: wholeNumber({ query, name: 'olderThanMs', most: MOST_MS }),
    youngerThanMs: wholeNumber({ query, name: 'youngerThanMs', most: MOST_MS }),
    cursor: positionOf(one(query, 'cursor')),
    limit: wholeNumber({ query, name: 'limit', least: 1, most: MOST_TASKS }),
  });
}

/** @throws BadQuestion */
export function eventQuestion(query: Query): { readonly after?: number; readonly limit?: number } {
  return given({
    after: wholeNumber({ query, name: 'after', most: MOST_SEQ }),
    limit: wholeNumber({ query, name: 'limit', least: 1, most: MOST_EVENTS }),
  });
}

/**
 * The tasks that a page watches, each once.
 * @throws BadQuestion
 */
export function watchQuestion(query: Query): readonly string[] {
  const taskIds = [...new Set(query.get('task') ?? [])];
  if (taskIds.length > MOST_WATCHED) throw new BadQuestion(`At most ${MOST_WATCHED} tasks can be watched.`);
  if (!taskIds.every(isStorableKey)) throw new BadQuestion('task cannot be the id of a task.');
  return taskIds;
}

/**
 * An id of a path.
 * @throws BadQuestion when nothing can have it.
 */
export function idIn(value: unknown, what: string): string {
  if (typeof value === 'string' && isStorableKey(value)) return value;
  throw new BadQuestion(`This cannot be the id of a ${what}.`);
}

/** A position as one word that nobody need understand. */
export function cursorOf(position: TaskPosition | null): string | null {
  if (position === null) return null;
  return Buffer.from(JSON.stringify([position.createdAtMs, position.taskId])).toString('base64url');
}

function positionOf(cursor: string | undefined): TaskPosition | undefined {
  if (cursor === undefined) return undefined;
  const [createdAtMs, taskId, ...rest] = listIn(cursor);
  const isMoment = typeof createdAtMs === 'number' && createdAtMs >= 0 && createdAtMs < 8.64e15;
  if (!isMoment || typeof taskId !== 'string' || !isStorableKey(taskId) || rest.length > 0)
    throw new BadQuestion('cursor is none that this server gave.');
  return { createdAtMs, taskId };
}

function listIn(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function one(query: Query, name: string): string | undefined {
  const [value, ...more] = query.get(name) ?? [];
  if (more.length > 0) throw new BadQuestion(`${name} may be named once.`);
  return value;
}

function name(query: Query, what: string): string | undefined {
  const value = one(query, what);
  if (value !== undefined && !isStorableName(value)) throw new BadQuestion(`${what} cannot exist.`);
  return value;
}

function wholeNumber(of: {
  readonly query: Query;
  readonly name: string;
  readonly least?: number;
  readonly most: number;
}): number | undefined {
  const { least = 0, most } = of;
  const text = one(of.query, of.name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
  throw new BadQuestion(`${of.name} must be a whole number from ${least} to ${most}.`);
}

function given<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  const set = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof Values]?: Exclude<Values[Name], undefined> };
}
