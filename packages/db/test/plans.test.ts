import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  SMALL_GROWTH,
  availableProviders,
  createTestDatabase,
  explain,
  growDatabase,
  isExplainable,
  listCalls,
  openRaw,
  readCalls,
  startCapture,
  writeCalls,
  type Capture,
  type GrowthCall,
  type Plan,
  type PlanStep,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { createDatabase } from '../src/create-database.js';
import type { Database } from '../src/database.js';

/** Tables that grow for good; `task_leases` holds what runs. */
const GROWING = ['tasks', 'task_events', 'task_snapshots', 'push_notification_configs'];
/** The most rows of anything a statement is asked for at once. */
const MOST_ROWS = 500;

/** A statement of a call, and one way in which the database may run it. */
interface Explained {
  readonly call: string;
  readonly sql: string;
  readonly plan: Plan;
}

// The statements are those that the code sends, taken from the driver: none is written down here.
describe.each(availableProviders())('plans on a grown %s', (provider) => {
  let server: TestDatabase;
  let capture: Capture;
  let database: Database;
  let raw: RawConnection;

  beforeAll(async () => {
    server = await createTestDatabase({ provider });
    await growDatabase(server.url, SMALL_GROWTH);
    capture = startCapture(provider);
    database = await createDatabase({ url: server.url, ttlMs: 15_000 });
    raw = await openRaw(server.url);
  });
  afterAll(async () => {
    capture.stop();
    await Promise.all([database.close(), raw.close()]);
    await server.drop();
  });

  async function plansOf(calls: readonly GrowthCall[]): Promise<Explained[]> {
    const found: Explained[] = [];
    for (const { name, run } of calls) {
      capture.take();
      await run(database);
      const texts = new Map(capture.take().map((statement) => [statement.sql, statement]));
      const statements = [...texts.values()].filter(isExplainable);
      expect([name, statements.length]).not.toEqual([name, 0]);
      for (const statement of statements)
        for (const plan of await explain(provider, raw, statement))
          found.push({ call: name, sql: statement.sql, plan });
    }
    return found;
  }

  const isTotal = ({ sql }: Explained): boolean => /\bcount\(/i.test(sql);
  /** What a list is filtered by, of what an index can be entered with. */
  const filtersOf = (call: string): string[] => [
    'tenant',
    'owner',
    ...(/ context/.test(call) ? ['context_id'] : []),
  ];
  const enters = (columns: readonly string[]) => (step: PlanStep) =>
    step.table === 'tasks' && step.index !== null && columns.every((name) => step.columns.includes(name));

  test('a page of a list is a range of an index, entered where the page begins', async () => {
    const pages = (await plansOf(listCalls(SMALL_GROWTH))).filter((one) => !isTotal(one));
    expect(pages.length).toBeGreaterThanOrEqual(listCalls(SMALL_GROWTH).length);
    const wrong = pages.filter(({ call, sql, plan }) => {
      // An index of contexts has no room for `id` here, so what has no time is sorted.
      const mayBeSorted = provider === 'mysql' && / context/.test(call) && sql.includes('IS NULL');
      const rare = /^a rare state:/.test(call) ? ['state'] : [];
      const columns = [...filtersOf(call), ...rare, 'status_timestamp'];
      return !plan.steps.every(enters(columns)) || (plan.sorts.length > 0 && !mayBeSorted);
    });
    expect(wrong).toEqual([]);
  });

  test('a total reads the matches in an index and nothing else', async () => {
    const totals = (await plansOf(listCalls(SMALL_GROWTH))).filter(isTotal);
    expect(totals).toHaveLength(listCalls(SMALL_GROWTH).length);
    const wrong = totals.filter(({ call, plan }) => {
      const since = /since a time/.test(call) ? ['status_timestamp'] : [];
      // In an index of contexts the state stands last, where there is room for it.
      const state = / state/.test(call) && !/ context/.test(call) ? ['state'] : [];
      const columns = [...filtersOf(call), ...state, ...since];
      return !plan.steps.every((step) => step.covering && enters(columns)(step)) || plan.sorts.length > 0;
    });
    expect(wrong).toEqual([]);
  });

  test('nothing else reads a table that grows from end to end, nor sorts more than it is asked for', async () => {
    const plans = await plansOf([...readCalls(SMALL_GROWTH), ...writeCalls(SMALL_GROWTH)]);
    const wrong = plans.filter(
      ({ plan }) =>
        plan.steps.some(({ table, columns }) => GROWING.includes(table) && columns.length === 0) ||
        plan.sorts.some((rows) => rows !== null && rows > MOST_ROWS),
    );
    expect(wrong).toEqual([]);
    const tables = new Set(plans.flatMap(({ plan }) => plan.steps.map(({ table }) => table)));
    expect([...tables].sort()).toEqual([...GROWING, 'task_leases'].sort());
  });

  // It has no index on expires_at on purpose: its leases are read as a whole, and are few.
  if (provider === 'postgresql') return;
  test('expired leases, and the next to expire, are found by an index', async () => {
    const calls = [...readCalls(SMALL_GROWTH), ...writeCalls(SMALL_GROWTH)];
    const stepsOf = async (call: string): Promise<PlanStep[]> => {
      const plans = await plansOf(calls.filter(({ name }) => name === call));
      return plans.flatMap(({ plan }) => plan.steps);
    };
    const index = 'task_leases_expires_at_idx';
    expect(await stepsOf('nextExpiry')).toEqual([expect.objectContaining({ index })]);
    expect(await stepsOf('sweep')).toContainEqual(
      expect.objectContaining({ index, columns: ['expires_at'] }),
    );
  });
});
