import { describe, expect, test } from '@jest/globals';
import { TaskState, type Task } from '@a2a-js/sdk';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { contextOf, executor, replicasOfTest, request, send } from './support.js';

const start = replicasOfTest();

function countingAgent(): { readonly agent: ReturnType<typeof executor>; readonly turns: () => number } {
  let turns = 0;
  const agent = executor(async (context, bus) => {
    turns += 1;
    bus.publish(taskEvent(context));
    bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
  });
  return { agent, turns: () => turns };
}

function texts(task: Task): string[] {
  return task.history.flatMap(({ parts }) =>
    parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])),
  );
}

describe('a follow-up with the id of an earlier message', () => {
  test('is a message of its own when it says something else', async () => {
    const { agent, turns } = countingAgent();
    const replica = await start({ executor: agent });
    const task = await send(replica, request('one', { messageId: 'm' }));
    await send(replica, request('two', { messageId: 'm', taskId: task.id }));
    const last = await send(replica, request('three', { messageId: 'm', taskId: task.id }));
    expect(turns()).toBe(3);
    expect(texts(last)).toEqual(['one', 'two', 'three']);
  });

  test('is answered by its own turn when it is sent again, on any replica', async () => {
    const database = createMemoryDatabase();
    const { agent, turns } = countingAgent();
    const a = await start({ executor: agent, database });
    const b = await start({ executor: agent, database });
    const task = await send(a, request('one', { messageId: 'm' }));
    for (const replica of [a, b, a]) {
      await send(replica, request('one', { messageId: 'm', taskId: task.id }));
      await send(replica, request('two', { messageId: 'm', taskId: task.id }));
    }
    expect(turns()).toBe(2);
    const stored = await b.handler.getTask(
      { id: task.id, tenant: '', historyLength: undefined },
      contextOf(),
    );
    expect(texts(stored)).toEqual(['one', 'two']);
  });
});
