import { afterEach, describe, expect, test } from '@jest/globals';
import { TaskState, type Task } from '@a2a-js/sdk';
import { ClusterError } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { newTask, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { contextOf, executor, request, startReplica, type TestReplica } from './support.js';

const replicas: TestReplica[] = [];

afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.close();
});

/** A database whose named lease statement fails so often before it answers. */
function failing(inner: Database, times: number): { readonly database: Database; calls(): number } {
  let calls = 0;
  const leases: Database['leases'] = Object.create(inner.leases) as Database['leases'];
  leases.markCancel = (lease) => {
    calls++;
    if (calls > times) return inner.leases.markCancel(lease);
    return Promise.reject(new ClusterError('STORE_FAULT', 'busy'));
  };
  return { database: { ...inner, leases }, calls: () => calls };
}

describe('a cancel whose mark fails at first', () => {
  test('is tried again and cancels the task', async () => {
    const inner = createMemoryDatabase();
    const { database, calls } = failing(inner, 2);
    const deaf = executor((context, bus) => {
      bus.publish(taskEvent(context));
      return new Promise(() => {});
    });
    const replica = await startReplica({
      executor: deaf,
      database,
      lease: { ttlMs: 3_000, heartbeatMs: 500, cancelGraceMs: 50 },
    });
    replicas.push(replica);
    const task = (await replica.handler.sendMessage(
      request('go', { immediately: true }),
      contextOf(),
    )) as Task;
    const cancelled = await replica.handler.cancelTask(
      { id: task.id, tenant: '', metadata: undefined },
      contextOf(),
    );
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(calls()).toBe(3);
  });
});

describe('the timestamp a list is sorted by', () => {
  test.each([
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.123456Z', '2026-01-01T00:00:00.123Z'],
    ['yesterday', 'yesterday'],
  ])('is one form of what the agent wrote: %s', async (timestamp, expected) => {
    const database = createMemoryDatabase();
    const done = executor((context, bus) => {
      const task = newTask(context.taskId, context.contextId, TaskState.TASK_STATE_COMPLETED);
      bus.publish({ kind: 'task', data: { ...task, status: { ...task.status!, timestamp } } });
      return Promise.resolve();
    });
    const replica = await startReplica({ executor: done, database });
    replicas.push(replica);
    const task = (await replica.handler.sendMessage(request('go'), contextOf())) as Task;
    expect(task.status?.timestamp).toBe(timestamp);
    const { rows } = await database.tasks.list({ scope: null, limit: 1 });
    expect(rows[0]?.statusTimestamp).toBe(expected);
  });
});

describe('a follow-up that waits for a holder whose release it does not hear of', () => {
  test('asks once more when its time is up, and runs', async () => {
    const database = createMemoryDatabase();
    const asking = executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      if (context.task) return bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
      await new Promise((resolve) => setTimeout(resolve, 100));
    });
    const holder = await startReplica({ executor: asking, database });
    const waiting = await startReplica({ executor: asking, database });
    replicas.push(holder, waiting);
    const parked = (await holder.handler.sendMessage(request('go'), contextOf())) as Task;
    const { watchHead } = waiting.stream;
    waiting.stream.watchHead = () => () => {};
    const answer = waiting.handler.sendMessage(request('on', { taskId: parked.id }), contextOf());
    await new Promise((resolve) => setTimeout(resolve, 300));
    waiting.stream.watchHead = watchHead;
    expect(((await answer) as Task).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  });
});
