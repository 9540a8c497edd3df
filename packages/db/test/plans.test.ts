import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  GROWING_TABLES,
  SMALL_GROWTH,
  availableProviders,
  createTestDatabase,
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
  type Capture,
  type Explained,
  type GrowthCall,
  type PlanStep,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { createDatabase } from '../src/create-database.js';
import type { Database } from '../src/database.js';

const lists = listCalls(SMALL_GROWTH);
const others = [...readCalls(SMALL_GROWTH), ...writeCalls(SMALL_GROWTH)];
const pushes = pushCalls(SMALL_GROWTH);

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

  const plansOf = (calls: readonly GrowthCall[]): Promise<readonly Explained[]> =>
    explainCalls({ provider, database, capture, raw, calls });

  test('a page of a list is a range of an index, entered where the page begins', async () => {
    const pages = (await plansOf(lists)).filter((one) => !isTotal(one));
    expect(pages.length).toBeGreaterThanOrEqual(lists.length);
    expect(wrongPages(provider, pages)).toEqual([]);
  });

  test('a total reads the matches in an index and nothing else', async () => {
    const totals = (await plansOf(lists)).filter(isTotal);
    expect(totals).toHaveLength(lists.length);
    expect(wrongTotals(totals)).toEqual([]);
  });

  test('nothing else reads a table that grows from end to end, nor sorts more than it is asked for', async () => {
    const plans = await plansOf([...others, ...pushes]);
    expect(wrongReads(plans)).toEqual([]);
    const tables = new Set(plans.flatMap(({ plan }) => plan.steps.map(({ table }) => table)));
    expect([...tables].sort()).toEqual([...GROWING_TABLES, 'push_dead_letters', 'task_leases'].sort());
  });

  test('what is due is found by an index, and what a commit has to deliver by its task', async () => {
    const entered = async (call: string): Promise<string[]> => {
      const plans = await plansOf(pushes.filter(({ name }) => name === call));
      const steps = plans.flatMap(({ plan }) => plan.steps);
      return steps
        .filter(({ table }) => table.startsWith('push_'))
        .map(({ table, index, columns }) => `${table} by ${columns.at(-1) ?? ''} of ${index ?? 'no index'}`);
    };
    const dueIndex = provider === 'mysql' ? 'status_due_at_idx' : 'due_at_idx';
    expect(await entered('claimDue')).toContain(
      `push_notification_configs by due_at of push_notification_configs_${dueIndex}`,
    );
    const key =
      /by (task_id|config_id|rowid) of (push_notification_configs_pkey|PRIMARY|sqlite_autoindex|no index)/;
    expect((await entered('claimOf')).filter((step) => !key.test(step))).toEqual([]);
    expect(await entered('claimDeadLetters')).toContain(
      'push_dead_letters by due_at of push_dead_letters_due_at_idx',
    );
  });

  // It has no index on expires_at on purpose: its leases are read as a whole, and are few.
  if (provider === 'postgresql') return;
  test('expired leases, and the next to expire, are found by an index', async () => {
    const stepsOf = async (call: string): Promise<PlanStep[]> => {
      const plans = await plansOf(others.filter(({ name }) => name === call));
      return plans.flatMap(({ plan }) => plan.steps);
    };
    const index = 'task_leases_expires_at_idx';
    expect(await stepsOf('nextExpiry')).toEqual([expect.objectContaining({ index })]);
    expect(await stepsOf('sweep')).toContainEqual(
      expect.objectContaining({ index, columns: ['expires_at'] }),
    );
  });
});
