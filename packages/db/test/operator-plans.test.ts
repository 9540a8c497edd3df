import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSystemClock } from '@a2a-cluster/core';
import {
  OPERATOR_READS,
  availableProviders,
  createTestDatabase,
  explainCalls,
  growDatabase,
  openRaw,
  operatorPages,
  startCapture,
  wrongReads,
  type Capture,
  type Explained,
  type GrowthCall,
  type RawConnection,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { createDatabase } from '../src/create-database.js';
import type { Database } from '../src/database.js';

const SIZE = { endedTasks: 99_500, eventsPerTask: 1, leases: 500 };
/** The console's promise is 300 ms for a page; a busy machine is given more. */
const SLOWEST_MS = 300;
const clock = createSystemClock();
// One task was made every second, the last a minute ago.
const pages = operatorPages({ cursorAtMs: Date.parse(clock.wallIso()) - 50_000_000 });

describe.each(availableProviders())("an operator's reads of 100 000 tasks on %s", (provider) => {
  let server: TestDatabase;
  let capture: Capture;
  let database: Database;
  let raw: RawConnection;

  beforeAll(async () => {
    server = await createTestDatabase({ provider });
    await growDatabase(server.url, SIZE);
    capture = startCapture(provider);
    database = await createDatabase({ url: server.url, ttlMs: 15_000 });
    raw = await openRaw(server.url);
  }, 120_000);
  afterAll(async () => {
    capture.stop();
    await Promise.all([database.close(), raw.close()]);
    await server.drop();
  });

  const plansOf = (calls: readonly GrowthCall[]): Promise<readonly Explained[]> =>
    explainCalls({ provider, database, capture, raw, calls });

  test('every page is a range of an index: of states, of an owner, or of the leases of a holder', async () => {
    const plans = (await plansOf(pages)).filter(({ statement }) => !/count\(/.test(statement.sql));
    expect(plans.length).toBeGreaterThanOrEqual(pages.length);
    const entered = ({ call, plan }: Explained): boolean =>
      plan.steps
        .filter(({ table }) => table === 'tasks')
        .every(({ index, columns }) => {
          const owned = columns.includes('tenant') && columns.includes('owner');
          if (/holder/.test(call)) return index !== null && columns.includes('id');
          return index !== null && (owned || columns.includes('state'));
        });
    expect(plans.filter((one) => !entered(one))).toEqual([]);
    expect(wrongReads(plans)).toEqual([]);
  });

  test('a later page is entered where it begins', async () => {
    const later = pages.filter(({ name }) =>
      /^(everything|a \w+ state|the tenant of all): page in/.test(name),
    );
    expect(later).toHaveLength(4);
    const steps = (await plansOf(later))
      .flatMap(({ plan }) => plan.steps)
      .filter(({ table }) => table === 'tasks');
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.filter(({ columns }) => !columns.includes('created_at'))).toEqual([]);
  });

  test('what else they read is entered by its key, and counts stay within an index', async () => {
    const plans = await plansOf(OPERATOR_READS);
    expect(wrongReads(plans)).toEqual([]);
  });

  test(`every page is there within ${SLOWEST_MS} ms`, async () => {
    const took: { readonly name: string; readonly ms: number }[] = [];
    for (const { name, run } of [...pages, ...OPERATOR_READS]) {
      const times: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const sentMs = clock.monotonicMs();
        await run(database);
        times.push(clock.monotonicMs() - sentMs);
      }
      took.push({ name, ms: Math.min(...times) });
    }
    const slowest = [...took].sort((a, b) => b.ms - a.ms);
    const told = slowest.slice(0, 5).map(({ name, ms }) => `${name} ${ms.toFixed(1)} ms`);
    process.stdout.write(`${provider}, 100 000 tasks, the slowest of ${took.length}: ${told.join('; ')}\n`);
    expect(slowest.filter(({ ms }) => ms > SLOWEST_MS)).toEqual([]);
  }, 60_000);
});
