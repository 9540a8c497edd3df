import { describe, expect, test } from '@jest/globals';
import { availableProviders, type TestProvider } from '@a2a-cluster/testing';
import { startCluster } from './support/cluster-of.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { TTL_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';

/** A little more than ten times the TTL. */
const QUIET_MS = TTL_MS * 10 + 500;

describe('a turn that says nothing for ten times the TTL', () => {
  // All databases beside each other: the test does nothing but wait.
  test('keeps its lease, on every database', async () => {
    await Promise.all(availableProviders().map(keepsItsLease));
  }, 120_000);
});

async function keepsItsLease(provider: TestProvider): Promise<void> {
  const cluster = await startCluster({ provider, count: 2 });
  const rows = await Rows.open(cluster.database.url);
  try {
    const [a, b] = cluster.replicas;
    const quiet = new Recording(a!.client.stream({ text: `sleep ${QUIET_MS}; done rested` }));
    const taskId = await quiet.taskId();
    await quiet.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    expect((await rows.events(taskId)).map((event) => event.epoch)).toEqual([1, 1]);
    const [first, last] = await rows.times(taskId);
    expect(last! - first!).toBeGreaterThanOrEqual(TTL_MS * 10);
    expect((await b!.client.get(taskId)).result?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(await violations(cluster.database.url)).toEqual([]);
  } finally {
    await rows.close();
    await cluster.end();
  }
}
