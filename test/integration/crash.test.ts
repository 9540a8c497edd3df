import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, workspaceRoot, type TestProvider } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { TTL_MS, type ReplicaProcess } from './support/replica-process.js';
import { Rows } from './support/rows.js';
import { waitUntil } from './support/wait-until.js';

const silentFollowUp = path.join(workspaceRoot, 'test/integration/support/agents/silent-follow-up.mjs');

/** Kills per database and the replicas that die together in one round. */
const plan: Record<TestProvider, { readonly rounds: number; readonly victims: number }> = {
  postgresql: { rounds: 5, victims: 10 },
  mysql: { rounds: 2, victims: 5 },
  sqlite: { rounds: 2, victims: 5 },
};

/** What the victims are doing when they die: being created, writing fast, writing slowly, parking, lingering. */
const scripts = [
  'tick 400 0',
  'chunk 300 2000 5',
  'tick 100 100',
  'sleep 30; ask more',
  'ask more; linger 20000',
  'tick 3 10; ask more',
];

describe.each(availableProviders())('a replica that is killed, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;
  let survivor: ReplicaProcess;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 1 });
    rows = await Rows.open(cluster.database.url);
    survivor = cluster.replicas[0]!;
  });
  afterAll(async () => {
    await rows.close();
    await cluster.end();
  });

  test('leaves a task that is FAILED once, for a subscriber elsewhere and for everyone', async () => {
    const victim = await cluster.add({ name: 'victim' });
    const caller = new Recording(victim.client.stream({ text: 'tick 100 100' }));
    const taskId = await caller.taskId();
    const watcher = new Recording(survivor.client.subscribe(taskId));
    await watcher.find((event) => stateOf(event) === 'TASK_STATE_WORKING');
    const killedAt = performance.now();
    victim.kill('SIGKILL');
    const failed = await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    expect(performance.now() - killedAt).toBeLessThan(TTL_MS + 1_000);
    expect(failed.statusUpdate?.metadata?.['a2a-cluster']?.reason).toBe('replica_lost');
    expect(await watcher.ended).toBeNull();
    expect((await survivor.client.get(taskId)).result?.status.state).toBe('TASK_STATE_FAILED');
    expect(await violations(cluster.database.url)).toEqual([]);
  });

  test('leaves an accepted follow-up that has said nothing FAILED, not parked', async () => {
    const victim = await cluster.add({ name: 'mute', env: { AGENT_MODULE: silentFollowUp } });
    const parked = await victim.client.send({ text: 'ask' });
    const taskId = parked.result?.task?.id ?? '';
    const caller = new Recording(victim.client.stream({ text: 'answer', taskId }));
    // The first turn's lease, of epoch 1, may still be there.
    const ofFollowUp = async () => {
      const lease = await rows.lease(taskId);
      return lease && lease.epoch > 1 ? lease : undefined;
    };
    await waitUntil({ what: 'the lease of the follow-up', limitMs: 5_000, ask: ofFollowUp });
    expect((await rows.task(taskId))?.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const watcher = new Recording(survivor.client.subscribe(taskId));
    await watcher.taskId();
    victim.kill('SIGKILL');
    await watcher.find((event) => stateOf(event) === 'TASK_STATE_FAILED');
    await caller.ended;
    expect(await violations(cluster.database.url)).toEqual([]);
  });

  test('whatever it was doing, leaves every task ended once or parked, in time', async () => {
    const { rounds, victims } = plan[provider];
    for (let round = 0; round < rounds; round++) {
      const doomed = await Promise.all(
        Array.from({ length: victims }, (_, index) => cluster.add({ name: `v${round}-${index}` })),
      );
      await Promise.all(doomed.map((replica, index) => killAtWork(replica, round * victims + index)));
      await waitUntil({
        what: 'no lease is left',
        limitMs: TTL_MS + 1_000,
        ask: async () => ((await rows.count('task_leases')) === 0 ? true : undefined),
      });
      expect(await violations(cluster.database.url)).toEqual([]);
    }
  }, 300_000);
});

/** Gives a replica work and kills it a moment later: the moment is another one for every kill. */
async function killAtWork(replica: ReplicaProcess, index: number): Promise<void> {
  const text = scripts[index % scripts.length]!;
  const calls = [0, 1].map(() => new Recording(replica.client.stream({ text })));
  const delayMs = (index * 37) % 230;
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  replica.kill('SIGKILL');
  await Promise.all([replica.exited, ...calls.map((call) => call.ended)]);
}
