import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import {
  contextOf,
  executor,
  gate,
  replicasOfTest,
  request,
  send,
  stateOf,
  stream,
  subscribe,
  told,
  until,
} from './support.js';

const start = replicasOfTest();
const draining = { metadata: { reason: 'REPLICA_DRAINING', retryAfterMs: expect.any(String) } };
const soon = { drainTimeoutMs: 50, fail: true, writeTimeoutMs: 1_000 };

describe('a replica that is paused', () => {
  test('takes no turns, goes on with those that run, reads and streams, and takes turns again', async () => {
    const finish = gate();
    const a = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await finish.passed;
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      }),
    });
    const { id } = await send(a, request('go', { immediately: true }));
    a.handler.pause(true);
    await expect(send(a, request('go'))).rejects.toMatchObject(draining);
    await expect(stream(a, request('this', { taskId: id }))).rejects.toMatchObject(draining);
    const seen = subscribe(a, id);
    expect(stateOf(await a.handler.getTask({ id, tenant: '' } as never, contextOf()))).toBe('SUBMITTED');
    await until(() => a.stream.status().tails > 0);
    finish.open();
    expect(told(await seen).at(-1)).toMatch(/COMPLETED/);
    a.handler.pause(false);
    expect(stateOf(await send(a, request('go')))).toBe('COMPLETED');
  });

  test('and closes does not take turns again when the pause ends', async () => {
    const a = await start({ executor: executor(async (context, bus) => bus.publish(taskEvent(context))) });
    a.handler.pause(true);
    a.handler.drain();
    a.handler.pause(false);
    await expect(send(a, request('go'))).rejects.toMatchObject(draining);
    await a.handler.closeTurns(soon);
  });
});

describe('a cancel for somebody else', () => {
  test('needs no call of the owner, and only finds the task of the scope that is named', async () => {
    const a = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
      }),
    });
    const { id } = await send(a, request('go'));
    const cancel = (owner: string) => a.handler.cancelAs(id, { tenant: '', owner });
    await expect(cancel('bob')).rejects.toMatchObject({ name: 'TaskNotFoundError' });
    expect(stateOf(await cancel('alice'))).toBe('CANCELED');
  });
});
