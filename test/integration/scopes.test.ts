import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import type { A2AClient, WireError } from './support/a2a-client.js';
import { startCluster, type TestCluster } from './support/cluster-of.js';
import { Recording } from './support/recording.js';
import { Rows } from './support/rows.js';

const AUTH_TOKENS = 'token-a=alice,token-b=bob,token-t=alice@acme';

/** An error without what names the task: the same for a task that is another's and one that does not exist. */
function shape(error: WireError | undefined, taskId: string): unknown {
  return error && { ...error, message: error.message.replaceAll(taskId, '<id>') };
}

describe.each(availableProviders())("another user's task, on %s", (provider) => {
  let cluster: TestCluster;
  let rows: Rows;
  let alice: A2AClient;
  let taskId: string;
  let running: Recording;

  beforeAll(async () => {
    cluster = await startCluster({ provider, count: 2, env: { AUTH_TOKENS } });
    rows = await Rows.open(cluster.database.url);
    alice = cluster.replicas[0]!.as('token-a');
    running = new Recording(alice.stream({ text: 'sleep 60000' }));
    taskId = await running.taskId();
  });
  afterAll(async () => {
    await alice.cancel(taskId);
    await running.ended;
    await rows.close();
    await cluster.end();
  });

  const config = { url: 'http://127.0.0.1:9/hook' };
  const calls: [string, (client: A2AClient, id: string) => Promise<{ error?: WireError }>][] = [
    ['get', (client, id) => client.get(id)],
    ['cancel', (client, id) => client.cancel(id)],
    ['a follow-up', (client, id) => client.send({ text: 'done', taskId: id })],
    [
      'subscribe',
      async (client, id) =>
        client
          .subscribe(id)
          .next()
          .then(
            () => ({}),
            (fault: { error: WireError }) => ({ error: fault.error }),
          ),
    ],
    [
      'creating a push config',
      (client, id) => client.call('CreateTaskPushNotificationConfig', { taskId: id, ...config }),
    ],
    [
      'getting a push config',
      (client, id) => client.call('GetTaskPushNotificationConfig', { taskId: id, id: 'x' }),
    ],
    ['listing push configs', (client, id) => client.call('ListTaskPushNotificationConfigs', { taskId: id })],
    [
      'deleting a push config',
      (client, id) => client.call('DeleteTaskPushNotificationConfig', { taskId: id, id: 'x' }),
    ],
  ];

  test.each(calls)('answers %s as if it did not exist', async (_name, call) => {
    const before = await rows.events(taskId);
    for (const token of ['token-b', 'token-t']) {
      const client = cluster.replicas[1]!.as(token);
      const theirs = await call(client, taskId);
      const missing = await call(client, 'no-such-task');
      expect(theirs.error?.code).toBe(-32001);
      expect(shape(theirs.error, taskId)).toEqual(shape(missing.error, 'no-such-task'));
    }
    expect(await rows.events(taskId)).toEqual(before);
    expect((await alice.get(taskId)).result?.status.state).toBe('TASK_STATE_SUBMITTED');
  });

  test("is in no list but its owner's", async () => {
    const listOf = async (token: string): Promise<string[]> => {
      const answer = await cluster.replicas[1]!.as(token).call<{ tasks: { id: string }[] }>('ListTasks', {});
      return answer.result!.tasks.map((task) => task.id);
    };
    expect(await listOf('token-a')).toEqual([taskId]);
    expect(await listOf('token-b')).toEqual([]);
    expect(await listOf('token-t')).toEqual([]);
  });

  test('cannot be asked for without a token', async () => {
    const answer = await fetch(`${cluster.replicas[0]!.base}/a2a/rest/tasks/${taskId}`, {
      headers: { 'a2a-version': '1.0' },
    });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ error: { code: 401 } });
    expect((await fetch(`${cluster.replicas[0]!.base}/.well-known/agent-card.json`)).status).toBe(200);
    expect((await fetch(`${cluster.replicas[0]!.base}/livez`)).status).toBe(200);
  });
});
