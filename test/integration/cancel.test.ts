import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf, textOf } from './support/recording.js';
import { HEARTBEAT_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';

/** The default grace: two heartbeats. */
const GRACE_MS = 2 * HEARTBEAT_MS;

describe.each(availableProviders())('a cancel from another replica, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 3 });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    expect(await violations(cluster.database.url)).toEqual([]);
    await rows.close();
    await cluster.end();
  });

  test.each([
    ['speaks', 'tick 100 50'],
    ['is silent', 'sleep 60000'],
  ])("is answered by the agent's own CANCELED event when the agent %s", async (_how, text) => {
    const [a, b, c] = cluster.replicas;
    const caller = new Recording(a!.client.stream({ text }));
    const taskId = await caller.taskId();
    const watcher = new Recording(b!.client.subscribe(taskId));
    await watcher.taskId();
    const sentAt = performance.now();
    const answer = await c!.client.cancel(taskId);
    expect(performance.now() - sentAt).toBeLessThan(GRACE_MS + 1_000);
    expect(answer.result?.status.state).toBe('TASK_STATE_CANCELED');
    const seen = await watcher.find((event) => stateOf(event) === 'TASK_STATE_CANCELED');
    expect(await caller.find((event) => stateOf(event) === 'TASK_STATE_CANCELED')).toEqual(seen);
    const events = await rows.events(taskId);
    expect(events.at(-1)?.holder).toBe(events[0]?.holder);
  });

  test('overrules an agent that is deaf after the grace, and keeps what it wrote meanwhile', async () => {
    const [a, , c] = cluster.replicas;
    const caller = new Recording(a!.client.stream({ text: 'chunk 3 100 10; deaf 60000' }));
    const taskId = await caller.taskId();
    await caller.find((event) => event.artifactUpdate?.lastChunk === true);
    const sentAt = performance.now();
    const answer = await c!.client.cancel(taskId);
    const took = performance.now() - sentAt;
    expect(took).toBeLessThan(GRACE_MS + 1_000);
    expect(answer.result?.status.state).toBe('TASK_STATE_CANCELED');
    expect(answer.result?.artifacts?.[0]?.parts).toHaveLength(3);
    expect(await caller.ended).toBeNull();
  });

  test('stands also when the canceller is killed meanwhile', async () => {
    const [a, b] = cluster.replicas;
    const canceller = await cluster.add({ name: 'canceller' });
    const caller = new Recording(a!.client.stream({ text: 'deaf 60000' }));
    const taskId = await caller.taskId();
    const watcher = new Recording(b!.client.subscribe(taskId));
    await watcher.taskId();
    const cancelled = canceller.client.cancel(taskId).catch(() => null);
    await a!.log((line) => line.msg === 'cancel requested' && line['taskId'] === taskId);
    const markedAt = performance.now();
    canceller.kill('SIGKILL');
    await watcher.find((event) => stateOf(event) === 'TASK_STATE_CANCELED');
    expect(performance.now() - markedAt).toBeLessThan(GRACE_MS + 1_000);
    await cancelled;
    expect(await caller.ended).toBeNull();
  });

  test('of a task that waits for input answers at once', async () => {
    const [a, , c] = cluster.replicas;
    const asked = await a!.client.send({ text: 'ask more' });
    const sentAt = performance.now();
    const answer = await c!.client.cancel(asked.result!.task!.id);
    expect(performance.now() - sentAt).toBeLessThan(GRACE_MS / 2);
    expect(answer.result?.status.state).toBe('TASK_STATE_CANCELED');
  });

  test('of a cancelled task answers with it, of a completed one is refused', async () => {
    const [a, b] = cluster.replicas;
    const asked = await a!.client.send({ text: 'ask more' });
    const taskId = asked.result!.task!.id;
    const first = await a!.client.cancel(taskId);
    expect((await b!.client.cancel(taskId)).result).toEqual(first.result);
    const done = await a!.client.send({ text: 'done' });
    expect((await b!.client.cancel(done.result!.task!.id)).error?.code).toBe(-32002);
    expect((await b!.client.cancel('no-such-task')).error?.code).toBe(-32001);
  });

  test('keeps what an agent writes after it was told', async () => {
    const [a, , c] = cluster.replicas;
    const caller = new Recording(
      a!.client.stream({ text: 'tick 1 1; deaf 300; chunk 2 50 10; done too late' }),
    );
    const taskId = await caller.taskId();
    await caller.find((event) => textOf(event) === 'tick 1/1');
    const answer = await c!.client.cancel(taskId);
    expect(['TASK_STATE_COMPLETED', 'TASK_STATE_CANCELED']).toContain(
      answer.result?.status.state ?? 'TASK_STATE_COMPLETED',
    );
    const now = await c!.client.get(taskId);
    expect(now.result?.artifacts?.[0]?.parts).toHaveLength(2);
  });
});
