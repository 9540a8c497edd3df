import DataLoader from 'dataloader';
import type { EventRow } from '@a2a-cluster/core';
import { MOST_TASKS_AT_ONCE, type LogStatements } from '@a2a-cluster/db';

/** Reads what comes next in the logs of tasks. */
export interface EventFeed {
  /** Events after `after`, in order; at least one if there is any, not all of them. @throws what the log throws. */
  read(find: { readonly taskId: string; readonly after: number }): Promise<readonly EventRow[]>;
}

interface Find {
  readonly taskId: string;
  readonly after: number;
}

/** Rows of one read, of many tasks together. */
const MOST_ROWS = 256;

/** What is kept of them for one claim; the rest is read again when its turn comes. At least one row is kept. */
const MOST_BYTES = 256 * 1024;

/** One read at a time, for all tasks that came up during the one before. */
export function createEventFeed(log: Pick<LogStatements, 'readEventsOf'>): EventFeed {
  let queue: Promise<unknown> = Promise.resolve();
  let current: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Find, readonly EventRow[] | null>(
    (finds) => {
      const read = readAll(log, finds);
      current = read.catch(() => {});
      return read;
    },
    {
      cache: false,
      maxBatchSize: MOST_TASKS_AT_ONCE,
      batchScheduleFn: (runBatch) => {
        queue = queue.then(() => {
          runBatch();
          return current;
        });
      },
    },
  );
  return {
    async read(find) {
      let found = await loader.load(find);
      // Those before it get nothing of the next, so its turn comes.
      while (found === null) found = await loader.load(find);
      return withinBytes(found);
    },
  };
}

/** Null: the rows of other tasks have used up the read. */
async function readAll(
  log: Pick<LogStatements, 'readEventsOf'>,
  finds: readonly Find[],
): Promise<readonly (readonly EventRow[] | null)[]> {
  const cursors = new Map<string, number>();
  for (const { taskId, after } of finds) cursors.set(taskId, Math.min(after, cursors.get(taskId) ?? after));
  const rows = await log.readEventsOf({
    cursors: [...cursors].map(([taskId, after]) => ({ taskId, after })),
    limit: MOST_ROWS,
  });
  const byTask = new Map<string, EventRow[]>();
  for (const row of rows) {
    const ofTask = byTask.get(row.taskId);
    if (ofTask) ofTask.push(row);
    else byTask.set(row.taskId, [row]);
  }
  const usedUp = rows.length >= MOST_ROWS;
  return finds.map(({ taskId, after }) => {
    const found = (byTask.get(taskId) ?? []).filter(({ seq }) => seq > after);
    return found.length === 0 && usedUp ? null : found;
  });
}

function withinBytes(rows: readonly EventRow[]): readonly EventRow[] {
  let bytes = 0;
  const over = rows.findIndex((row) => (bytes += row.payload.length) > MOST_BYTES);
  return over === -1 ? rows : rows.slice(0, Math.max(1, over));
}
