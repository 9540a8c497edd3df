import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { Recording, stateOf, textOf } from './support/recording.js';
import { Rows } from './support/rows.js';

describe.each(availableProviders())('a turn that runs on one replica, on %s', (provider) => {
  let cluster: TestCluster;
  let rows: Rows;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2 });
    rows = await Rows.open(cluster.database.url);
  });
  afterAll(async () => {
    await rows.close();
    await cluster.end();
  });

  test.each([
    ['another replica', 1],
    ['its own replica', 0],
  ])('is refused to a follow-up on %s, and nothing of that is kept', async (_where, index) => {
    const [a, b] = cluster.replicas;
    const caller = new Recording(a!.client.stream({ text: 'tick 4 400; done well' }));
    const taskId = await caller.taskId();
    await caller.find((event) => textOf(event) === 'tick 1/4');
    const before = await rows.events(taskId);
    const refused = await cluster.replicas[index]!.client.send({
      taskId,
      text: 'done never',
      configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:9/hook' } },
    });
    expect(refused.error?.code).toBe(-32004);
    expect(refused.error?.data?.[0]).toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
      metadata: { reason: 'TASK_BUSY', retryAfterMs: expect.stringMatching(/^\d+$/) },
    });
    const watcher = new Recording(b!.client.subscribe(taskId));
    await watcher.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    expect(await watcher.ended).toBeNull();
    expect(await caller.ended).toBeNull();
    const after = await rows.events(taskId);
    expect(after.some((event) => event.kind === 'message')).toBe(false);
    expect(after.length).toBeGreaterThan(before.length);
    expect(new Set(after.map((event) => event.epoch))).toEqual(new Set([1]));
    expect(await rows.count('push_notification_configs')).toBe(0);
    expect(await rows.lease(taskId)).toBeUndefined();
  });

  test('is refused over REST in the same words', async () => {
    const [a, b] = cluster.replicas;
    const caller = new Recording(a!.client.stream({ text: 'sleep 1500' }));
    const taskId = await caller.taskId();
    const answer = await fetch(`${b!.base}/a2a/rest/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({
        message: { messageId: 'again', taskId, role: 'ROLE_USER', parts: [{ text: 'done' }] },
      }),
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { status: 'FAILED_PRECONDITION', details: [{ metadata: { reason: 'TASK_BUSY' } }] },
    });
    expect(await caller.ended).toBeNull();
  });
});
