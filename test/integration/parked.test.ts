import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, workspaceRoot } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { violations } from './support/invariants.js';
import { Recording, stateOf } from './support/recording.js';
import { HEARTBEAT_MS, TTL_MS } from './support/replica-process.js';
import { Rows } from './support/rows.js';
import { waitUntil } from './support/wait-until.js';

const echo = path.join(workspaceRoot, 'test/integration/support/agents/echo.mjs');

describe.each(availableProviders())('leases and parked tasks, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2 });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    expect(await violations(cluster.database.url)).toEqual([]);
    await rows.close();
    await cluster.end();
  });

  test.each([
    ['completion', 'done', 'TASK_STATE_COMPLETED'],
    ['a request for input', 'ask what', 'TASK_STATE_INPUT_REQUIRED'],
    ['an error of the executor', 'fail badly', 'TASK_STATE_FAILED'],
    ['rejection', 'reject this', 'TASK_STATE_REJECTED'],
  ])('a lease is gone after %s', async (_what, text, state) => {
    const answer = await cluster.replicas[0]!.client.send({ text });
    const task = answer.result?.task;
    expect(task?.status.state).toBe(state);
    const gone = async (): Promise<true | undefined> => ((await rows.lease(task!.id)) ? undefined : true);
    await waitUntil({ what: 'the lease is gone', limitMs: HEARTBEAT_MS, ask: gone });
  });

  test('a lease is gone after a cancel', async () => {
    const [a, b] = cluster.replicas;
    const caller = new Recording(a!.client.stream({ text: 'sleep 60000' }));
    const taskId = await caller.taskId();
    expect((await b!.client.cancel(taskId)).result?.status.state).toBe('TASK_STATE_CANCELED');
    expect(await rows.lease(taskId)).toBeUndefined();
    expect(await caller.ended).toBeNull();
  });

  test('a follow-up sent right after the question waits for a holder that lingers, then runs', async () => {
    const [a, b] = cluster.replicas;
    const asked = await a!.client.send({ text: `ask more; linger ${HEARTBEAT_MS / 2}` });
    const taskId = asked.result!.task!.id;
    expect(await rows.lease(taskId)).toBeDefined();
    const answer = await b!.client.send({ text: 'done thanks', taskId });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('a follow-up to a holder that is stuck is refused after one heartbeat interval', async () => {
    const [a, b] = cluster.replicas;
    const asked = await a!.client.send({ text: `ask more; linger ${TTL_MS}` });
    const taskId = asked.result!.task!.id;
    const sentAt = performance.now();
    const answer = await b!.client.send({ text: 'done thanks', taskId });
    expect(answer.error?.data?.[0]?.metadata?.['reason']).toBe('TASK_BUSY');
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(HEARTBEAT_MS * 0.9);
    expect(performance.now() - sentAt).toBeLessThan(HEARTBEAT_MS + 1_000);
    expect((await rows.events(taskId)).some((event) => event.kind === 'message')).toBe(false);
  });

  test('an agent that echoes the old task as its first event ends no stream by it', async () => {
    const env = { AGENT_MODULE: echo };
    const [a, b] = await Promise.all([cluster.add({ name: 'x', env }), cluster.add({ name: 'y', env })]);
    const asked = await a.client.send({ text: 'hello' });
    const taskId = asked.result!.task!.id;
    const subscriber = new Recording(a.client.subscribe(taskId));
    await subscriber.taskId();
    const caller = new Recording(b.client.stream({ text: 'go on', taskId }));
    await caller.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    await subscriber.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    expect(caller.events[0]?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    // The subscriber has the task it began with in front of what the caller saw.
    expect(subscriber.events.slice(1)).toEqual(caller.events);
  });
});
