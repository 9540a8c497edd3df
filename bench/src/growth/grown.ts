import {
  explainCalls,
  growDatabase,
  isTotal,
  listCalls,
  openRaw,
  pushCalls,
  readCalls,
  startCapture,
  writeCalls,
  wrongPages,
  wrongReads,
  wrongTotals,
  type Explained,
  type GrowthSize,
  type RawConnection,
} from '@a2a-cluster/testing';
import { createDatabase, type Database } from '@a2a-cluster/db';
import type { BenchContext } from '../benchmark.js';
import { timeMs } from '../harness/time.js';

const TTL_MS = 3_600_000;

/** A grown database, opened. */
export interface Grown {
  readonly size: GrowthSize;
  readonly database: Database;
  readonly raw: RawConnection;
  /** The plans of every call, and those among them that are not as they have to be. */
  readonly plans: readonly Explained[];
  readonly wrong: readonly Explained[];
}

/** Makes a database of that size and asks for the plans of all that the code sends to it. */
export async function openGrown(context: BenchContext, size: GrowthSize): Promise<Grown> {
  const url = await context.freshDatabase();
  const ms = await timeMs(() => growDatabase(url, size));
  const events = size.endedTasks * size.eventsPerTask;
  context.say(`${size.endedTasks} tasks and ${events} events, made in ${(ms / 1_000).toFixed(1)} s`);
  const capture = startCapture(context.database);
  try {
    // A total of hundreds of thousands of rows from a cold disk may take longer than a request is given.
    const database = await createDatabase({ url, ttlMs: TTL_MS, statementTimeoutMs: 120_000 });
    context.cleanUp(() => database.close());
    const raw = await openRaw(url);
    context.cleanUp(() => raw.close());
    const explainAll = (calls: Parameters<typeof explainCalls>[0]['calls']): Promise<readonly Explained[]> =>
      explainCalls({ provider: context.database, database, capture, raw, calls });
    const lists = await explainAll(listCalls(size));
    const others = await explainAll([...readCalls(size), ...writeCalls(size), ...pushCalls(size)]);
    const wrong = [
      ...wrongPages(
        context.database,
        lists.filter((one) => !isTotal(one)),
      ),
      ...wrongTotals(lists.filter(isTotal)),
      ...wrongReads(others),
    ];
    return { size, database, raw, plans: [...lists, ...others], wrong };
  } finally {
    capture.stop();
  }
}
