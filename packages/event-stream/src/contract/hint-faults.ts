import type { Database, HintSource } from '@a2a-cluster/db';

/** What becomes of hints on their way. */
export type HintFault = 'lost' | 'doubled' | 'late and reordered';

/** Every {@link HintFault}. */
export const HINT_FAULTS: readonly HintFault[] = ['lost', 'doubled', 'late and reordered'];

/** The database with a fault in its hints. */
export function withHintFault(database: Database, fault: HintFault): Database {
  return { ...database, hints: faulty(database.hints, fault) };
}

function faulty(source: HintSource, fault: HintFault): HintSource {
  switch (source.kind) {
    case 'none':
      return source;
    case 'counter':
      return { kind: 'counter', read: faultyCounter(() => source.read(), fault) };
    case 'listen':
      return {
        kind: 'listen',
        listen: (handlers) => source.listen(handlers),
        notify: faultyNotify((taskIds) => source.notify(taskIds), fault),
      };
  }
}

function faultyCounter(read: () => number, fault: HintFault): () => number {
  let reads = 0;
  let before = read();
  return () => {
    reads += 1;
    if (fault === 'lost') return 0;
    if (fault === 'doubled') return reads;
    const late = before;
    before = read();
    return late;
  };
}

function faultyNotify(
  notify: (taskIds: readonly string[]) => Promise<void>,
  fault: HintFault,
): (taskIds: readonly string[]) => Promise<void> {
  let kept: readonly string[] = [];
  return async (taskIds) => {
    if (fault === 'lost') return;
    if (fault === 'doubled') {
      await notify(taskIds);
      return notify(taskIds);
    }
    // Each hint goes out with the next one, the later before the earlier.
    const before = kept;
    kept = taskIds;
    if (before.length > 0) await notify([...taskIds, ...before].reverse());
  };
}

/** How often each log statement was called, and how many ran at the same time at most. */
export interface LogCounts {
  readonly calls: Record<'readTask' | 'readHeads' | 'readEvents' | 'readEventsOf', number>;
  mostHeadsAtOnce: number;
}

/** The database with its log statements counted. */
export function withCounts(database: Database): { database: Database; counts: LogCounts } {
  const counts: LogCounts = {
    calls: { readTask: 0, readHeads: 0, readEvents: 0, readEventsOf: 0 },
    mostHeadsAtOnce: 0,
  };
  const { log } = database;
  let headsNow = 0;
  const counted: Database['log'] = {
    ...log,
    readTask: (read) => ((counts.calls.readTask += 1), log.readTask(read)),
    readEvents: (page) => ((counts.calls.readEvents += 1), log.readEvents(page)),
    readEventsOf: (pages) => ((counts.calls.readEventsOf += 1), log.readEventsOf(pages)),
    readHeads: async (taskIds) => {
      counts.calls.readHeads += 1;
      headsNow += 1;
      counts.mostHeadsAtOnce = Math.max(counts.mostHeadsAtOnce, headsNow);
      try {
        return await log.readHeads(taskIds);
      } finally {
        headsNow -= 1;
      }
    },
  };
  return { database: { ...database, log: counted }, counts };
}
