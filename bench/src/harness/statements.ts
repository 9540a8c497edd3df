import pg from 'pg';

/** Statements by their text (or name), counted. */
export interface StatementCount {
  /** How many since the count began or was last taken; the count goes on from nothing. */
  take(): ReadonlyMap<string, number>;
  /** Ends the counting. */
  stop(): void;
}

/** What a statement counts as: a leading comment, its name, or the beginning of its text. */
const LABEL_LENGTH = 60;

/**
 * Counts every query this process sends through `pg`, whoever sends it: a job queue, the SDK's store, Prisma, us. One
 * query of the extended protocol is one round trip.
 */
export function countStatements(): StatementCount {
  const counts = new Map<string, number>();
  const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const original = prototype.query;
  prototype.query = function query(this: unknown, ...args: unknown[]): unknown {
    const label = labelOf(args[0]);
    counts.set(label, (counts.get(label) ?? 0) + 1);
    return original.apply(this, args);
  };
  return {
    take: () => {
      const taken = new Map(counts);
      counts.clear();
      return taken;
    },
    stop: () => {
      prototype.query = original;
    },
  };
}

function labelOf(query: unknown): string {
  const { name, text: sql } = (typeof query === 'object' && query ? query : {}) as Record<string, unknown>;
  // A name of ours ends in a digest of its text.
  if (typeof name === 'string') return name.replace(/_[0-9a-f]{12}$/, '');
  const text = typeof query === 'string' ? query : (sql ?? '?');
  return String(text).replaceAll(/\s+/g, ' ').trim().slice(0, LABEL_LENGTH);
}

/** All of them together. */
export function totalOf(counts: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

/** The counts as one line, the most frequent first. */
export function describeCounts(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([label, count]) => `${count} x ${label}`).join('; ');
}
