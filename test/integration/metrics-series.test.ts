import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, growDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { createDemoAgent } from '../../apps/clustermode/src/agent/demo-agent.js';
import { startMetered, type MeteredReplica } from './support/metered.js';
import { Rows } from './support/rows.js';
import { waitUntil } from './support/wait-until.js';

const TASKS = 10_000;
const RUNNING = 200;
const MOST_SERIES = 300;

describe('a database with ten thousand tasks', () => {
  let database: TestDatabase;
  let replica: MeteredReplica;

  beforeAll(async () => {
    database = await createTestDatabase({ provider: 'sqlite' });
    await growDatabase(database.url, { endedTasks: TASKS - RUNNING, eventsPerTask: 3, leases: RUNNING });
    replica = await startMetered({
      databaseUrl: database.url,
      executor: createDemoAgent(),
      lease: { ttlMs: 3_000, heartbeatMs: 500, sweepIntervalMs: 200 },
    });
  });
  afterAll(async () => {
    await replica.close();
    await database.drop();
  });

  test('has no more series than an empty one, whoever runs turns on it, and no id in any of them', async () => {
    const rows = await Rows.open(database.url);
    expect(await rows.count('tasks')).toBe(TASKS);
    await rows.close();
    const before = await replica.scrape();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => replica.client.send({ text: n % 2 ? 'tick 3 1' : 'fail no' })),
    );
    // The grown turns of replicas that are gone.
    const after = await waitUntil({
      what: 'half of the leases are swept',
      limitMs: 20_000,
      ask: async () => {
        const scrape = await replica.scrape();
        const swept = scrape.get('a2a_cluster_leases_swept_total{verdict="failed"}') ?? 0;
        // More, where the sweeper takes a busy machine for a clock that stepped and cuts the longer ones.
        return swept >= RUNNING / 2 ? scrape : undefined;
      },
    });
    expect(after.get('a2a_cluster_turns_ended_total{end="completed"}')).toBe(20);
    const ours = (scrape: typeof after): string[] =>
      [...scrape.keys()].filter((name) => name.startsWith('a2a_'));
    expect(ours(after)).toEqual(ours(before));
    // Series of the process come with what it does: kinds of collections, of handles.
    expect(after.size).toBeLessThan(MOST_SERIES - 40);
    const series = [...after.keys()].join('\n');
    for (const { result } of answers) expect(series).not.toContain(result?.task?.id ?? 'no task');
    expect(series).not.toContain('task-');
  });
});
