import { describe, expect, test } from '@jest/globals';
import { TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';
import { UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { artifactEvent, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { turnOf } from '../src/index.js';
import { collect, contextOf, executor, replicasOfTest, request } from './support.js';

const start = replicasOfTest();

function cases(events: readonly StreamResponse[]): string[] {
  return events.map((event) => event.payload?.$case ?? '');
}

const completing = executor(async (context, bus) => {
  bus.publish(taskEvent(context));
  bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING));
  bus.publish(artifactEvent(context, 'a', false));
  await Promise.resolve();
  bus.publish(artifactEvent(context, 'b', true));
  bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED, 'done'));
});

describe('a turn', () => {
  test('answers a blocking send with the task as it ended', async () => {
    const { handler } = await start({ executor: completing });
    const task = (await handler.sendMessage(request('go'), contextOf())) as Task;
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(task.artifacts[0]?.parts).toHaveLength(2);
    expect(task.history).toHaveLength(2);
  });

  test('streams its events in order and leaves no lease', async () => {
    const database = createMemoryDatabase();
    const { handler } = await start({ executor: completing, database });
    const events = await collect(handler.sendMessageStream(request('go'), contextOf()));
    expect(cases(events)).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    expect(await database.leases.listLeases(10)).toEqual([]);
  });

  test('is refused to a second message on every replica, and may be subscribed to', async () => {
    const database = createMemoryDatabase();
    let finish = (): void => {};
    const gate = new Promise<void>((resolve) => (finish = resolve));
    const slow = executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      await gate;
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const a = await start({ executor: slow, database });
    const b = await start({ executor: slow, database });
    const task = (await a.handler.sendMessage(request('go', { immediately: true }), contextOf())) as Task;
    for (const { handler } of [a, b]) {
      const refused = handler.sendMessage(request('more', { taskId: task.id }), contextOf());
      await expect(refused).rejects.toBeInstanceOf(UnsupportedOperationError);
      await expect(refused).rejects.toMatchObject({ metadata: { reason: 'TASK_BUSY' } });
    }
    const seen = collect(b.handler.resubscribe({ id: task.id, tenant: '' }, contextOf()));
    finish();
    expect(cases(await seen)).toEqual(['task', 'statusUpdate']);
  });

  test('waits for a holder that lingers on a parked task', async () => {
    const database = createMemoryDatabase();
    const asking = executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      if (context.task) {
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
        return;
      }
      bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED, 'which?'));
      await new Promise((resolve) => setTimeout(resolve, 150));
    });
    const a = await start({ executor: asking, database });
    const b = await start({ executor: asking, database });
    const parked = (await a.handler.sendMessage(request('go'), contextOf())) as Task;
    expect(parked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const events = await collect(
      b.handler.sendMessageStream(request('this', { taskId: parked.id }), contextOf()),
    );
    expect(cases(events)).toEqual(['task', 'statusUpdate']);
  });

  test('is told of a cancel on another replica and ends the task itself', async () => {
    const database = createMemoryDatabase();
    let told = (): void => {};
    const whenTold = new Promise<void>((resolve) => (told = resolve));
    const flagged = executor(
      async (context, bus) => {
        bus.publish(taskEvent(context));
        await whenTold;
        bus.publish(statusEvent(context, TaskState.TASK_STATE_CANCELED, 'by the agent'));
      },
      () => {
        told();
        return Promise.resolve();
      },
    );
    const a = await start({ executor: flagged, database });
    const b = await start({ executor: flagged, database });
    const task = (await a.handler.sendMessage(request('go', { immediately: true }), contextOf())) as Task;
    const canceled = await b.handler.cancelTask(
      { id: task.id, tenant: '', metadata: undefined },
      contextOf(),
    );
    expect(canceled.status?.message?.messageId).toBe('m-by the agent');
  });

  test('ends FAILED when its executor throws, also before anything was published', async () => {
    const { handler } = await start({
      executor: executor(() => {
        throw new Error('no luck');
      }),
    });
    const task = (await handler.sendMessage(request('go'), contextOf())) as Task;
    expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED);
    expect(task.status?.message?.parts[0]?.content).toEqual({
      $case: 'text',
      value: 'Agent execution error: no luck',
    });
  });
});

describe('the snapshot of a task', () => {
  const snapshotVersions = (database: Database): { readonly written: number[] } => {
    const written: number[] = [];
    const { commit, createTask } = database.journal;
    Object.assign(database.journal, {
      commit: (write: Parameters<typeof commit>[0]) => {
        if (write.snapshot !== null) written.push(write.expectedVersion + write.events.length);
        return commit(write);
      },
      createTask: (create: Parameters<typeof createTask>[0]) => {
        if (create.snapshot !== null) written.push(create.events.length);
        return createTask(create);
      },
    });
    return { written };
  };
  const chunks = (count: number, bytes: number) =>
    executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      for (let index = 0; index < count; index += 1) {
        bus.publish(artifactEvent(context, 'x'.repeat(bytes), true));
        await turnOf(context).drained();
      }
      bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED, `${count}`));
    });

  test('is written when the events since the last one weigh more than it, and when the turn ends', async () => {
    const database = createMemoryDatabase();
    const { written } = snapshotVersions(database);
    // 20 KB each: 4 fill the first 64 KiB, the next 4 weigh as much as the snapshot of 4, then 8, and the end.
    const { handler } = await start({ executor: chunks(16, 20_000), database });
    await handler.sendMessage(request('go'), contextOf());
    expect(written).toEqual([5, 9, 17, 18]);
  });
});
