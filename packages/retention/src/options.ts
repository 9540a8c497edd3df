import { ClusterError } from '@a2a-cluster/core';

/** How long ended tasks keep what they have. Times are in milliseconds, by the database's clock. */
export interface RetentionOptions {
  /**
   * How long after its end a task keeps its events; then its document is all that is left of them. 0 or null: for ever.
   * Default {@link DEFAULT_EVENTS_MS}. Streams that are behind by then get the document in place of the events.
   */
  readonly eventsMs?: number | null;
  /** How long after its end a task is kept at all; at least `eventsMs`. 0 or null, the default: for ever. */
  readonly tasksMs?: number | null;
  /**
   * Tasks that a step looks at. Default {@link DEFAULT_RETENTION_BATCH}; {@link EMBEDDED_RETENTION_BATCH} where the
   * database runs in this process. A step deletes at most ten times as many events.
   */
  readonly batchSize?: number;
  /** The rest after every step. Default {@link DEFAULT_RETENTION_PAUSE_MS}. 0: none. */
  readonly pauseMs?: number;
}

/** {@link RetentionOptions} with every value decided. Null: for ever. */
export interface ResolvedRetentionOptions {
  readonly eventsMs: number | null;
  readonly tasksMs: number | null;
  readonly batchSize: number;
  /** Most events that one statement deletes. */
  readonly maxEvents: number;
  readonly pauseMs: number;
  /** From the beginning of a pass to that of the next, before a jitter of 20 %. */
  readonly intervalMs: number;
}

/** A day: more than the longest a webhook is tried, and than any client is away that means to come back. */
export const DEFAULT_EVENTS_MS = 24 * 60 * 60 * 1_000;

/** Tasks per step. More: longer statements; less: a pass over many tasks takes longer. */
export const DEFAULT_RETENTION_BATCH = 500;

/** Tasks per step for SQLite: a statement blocks this process, and with it every stream and every beat. */
export const EMBEDDED_RETENTION_BATCH = 50;

/** The rest after a step. More: a pass takes longer; less: whoever needs the database meets more of it. */
export const DEFAULT_RETENTION_PAUSE_MS = 50;

/** Events per task of a step, for the bound on what one statement deletes. */
const EVENTS_PER_TASK = 10;

/** Passes begin at least this often. Longer: what is due stays for longer. */
const LONGEST_INTERVAL_MS = 60 * 60 * 1_000;

/** The longest time: what fits into the intervals of every database. A hundred years. */
const MOST_MS = 100 * 365 * 24 * 60 * 60 * 1_000;

/**
 * Fills in the defaults.
 * @throws ClusterError `CONFIG_INVALID` for values that are no whole numbers in their range, and for tasks that would
 * have to go before their events; the message names both numbers.
 */
export function resolveRetentionOptions(
  options: RetentionOptions,
  context: { readonly embedded: boolean },
): ResolvedRetentionOptions {
  const { pauseMs = DEFAULT_RETENTION_PAUSE_MS } = options;
  const { batchSize = context.embedded ? EMBEDDED_RETENTION_BATCH : DEFAULT_RETENTION_BATCH } = options;
  const { eventsMs = DEFAULT_EVENTS_MS, tasksMs = null } = options;
  const problems = [
    ...outOfRange('eventsMs', eventsMs ?? 0, { least: 0, most: MOST_MS }),
    ...outOfRange('tasksMs', tasksMs ?? 0, { least: 0, most: MOST_MS }),
    ...outOfRange('batchSize', batchSize, { least: 1, most: 10_000 }),
    ...outOfRange('pauseMs', pauseMs, { least: 0, most: LONGEST_INTERVAL_MS }),
  ];
  const kept = { eventsMs: eventsMs || null, tasksMs: tasksMs || null };
  if (problems.length === 0) problems.push(...outOfOrder(kept));
  if (problems.length > 0) throw new ClusterError('CONFIG_INVALID', problems.join('; '));
  const maxEvents = batchSize * EVENTS_PER_TASK;
  return { ...kept, batchSize, maxEvents, pauseMs, intervalMs: intervalOf(kept.eventsMs) };
}

function outOfRange(
  name: keyof RetentionOptions,
  value: number,
  range: { readonly least: number; readonly most: number },
): string[] {
  const { least, most } = range;
  if (Number.isInteger(value) && value >= least && value <= most) return [];
  return [`retention.${name} is ${value}, it must be a whole number from ${least} to ${most}`];
}

function outOfOrder(kept: { readonly eventsMs: number | null; readonly tasksMs: number | null }): string[] {
  const { eventsMs, tasksMs } = kept;
  if (tasksMs === null || (eventsMs !== null && eventsMs <= tasksMs)) return [];
  const events = eventsMs === null ? '0, which keeps events for ever' : String(eventsMs);
  return [
    `retention.tasksMs is ${tasksMs} and retention.eventsMs is ${events}: events cannot outlive their task, set retention.eventsMs to at most ${tasksMs} or retention.tasksMs higher`,
  ];
}

function intervalOf(eventsMs: number | null): number {
  return Math.max(1, Math.min(LONGEST_INTERVAL_MS, Math.floor((eventsMs ?? Infinity) / 4)));
}
