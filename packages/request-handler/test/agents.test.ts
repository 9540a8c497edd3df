import { describe, expect, test } from '@jest/globals';
import { TaskState, type Message, type Task } from '@a2a-js/sdk';
import type { AgentExecutionEvent, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { turnOf } from '../src/index.js';
import {
  agentMessage,
  artifactEvent,
  statusEvent,
  taskEvent,
} from '../../../test/integration/support/events.js';
import { createFaultyDatabase } from '../../task-store/test/faulty-database.js';
import { createMemoryDatabase } from '@a2a-cluster/db';
import {
  cancel,
  contextOf,
  executor,
  gate,
  logOf,
  reasonOf,
  replicasOfTest,
  request,
  send,
  statusText,
  stateOf,
  stream,
  told,
  until,
} from './support.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_AUTH_REQUIRED } =
  TaskState;
const start = replicasOfTest();

/** An executor that asks on the first turn and does something on the next. */
function asksThen(
  next: (context: RequestContext, bus: ExecutionEventBus) => Promise<void>,
): ReturnType<typeof executor> {
  return executor(async (context, bus) => {
    if (context.task) return next(context, bus);
    bus.publish(taskEvent(context));
    bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED, 'which?'));
  });
}

describe('an agent that misbehaves', () => {
  const cases: [string, (context: RequestContext, bus: ExecutionEventBus) => void | Promise<void>][] = [
    ['rejects after its first event', () => Promise.reject(new Error('no luck'))],
    [
      'throws at once',
      () => {
        throw new Error('no luck');
      },
    ],
    ['publishes a message after a task', (context, bus) => bus.publish(messageEvent(context))],
    [
      "publishes another task's event",
      (context, bus) =>
        bus.publish(statusEvent({ ...context, taskId: 'other' } as never, TASK_STATE_WORKING)),
    ],
    ['publishes nothing at all', (_context, bus) => bus.publish(undefined as never)],
    ['publishes what is no event', (_context, bus) => bus.publish({ kind: 'song', data: {} } as never)],
    [
      'publishes what cannot be encoded',
      (context, bus) => {
        const event = statusEvent(context, TASK_STATE_WORKING);
        bus.publish({ ...event, data: { ...event.data, metadata: { big: 1n } } } as AgentExecutionEvent);
      },
    ],
    ['publishes an event over the limit', (context, bus) => bus.publish(artifactEvent(context, huge, false))],
    ['returns in the middle', () => {}],
  ];

  test.each(cases)(
    'and %s ends its task FAILED, for a blocking and for a streaming caller',
    async (_how, act) => {
      const replica = await start({
        executor: executor(async (context, bus) => {
          bus.publish(taskEvent(context));
          await act(context, bus);
        }),
        handler: { maxEventBytes: 10_000 },
      });
      const task = await send(replica, request('go'));
      expect(stateOf(task)).toBe('FAILED');
      expect(reasonOf(task)).toEqual(expect.any(String));
      expect(told(await stream(replica, request('go')))).toEqual(['task', 'FAILED']);
      expect(await replica.database.leases.listLeases(10)).toEqual([]);
      expect(replica.handler.runningTurns).toBe(0);
    },
  );

  test.each([
    ['a status', (context: RequestContext) => statusEvent(context, TASK_STATE_WORKING)],
    ['an artifact', (context: RequestContext) => artifactEvent(context, 'a', false)],
  ])('and begins with %s ends its new task FAILED', async (_what, first) => {
    const replica = await start({
      executor: executor(async (context, bus) => bus.publish(first(context))),
    });
    const task = await send(replica, request('go'));
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'wrong_order']);
    expect(task.history).toHaveLength(1);
  });

  test('and says nothing at all ends its new task FAILED with reason turn_incomplete', async () => {
    const replica = await start({ executor: executor(async () => {}) });
    const task = await send(replica, request('go'));
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'turn_incomplete']);
  });

  test('and answers with a message that cannot be copied fails, instead of leaving its caller waiting', async () => {
    const replica = await start({
      executor: executor(async (context, bus) => {
        const event = messageEvent(context);
        bus.publish({ ...event, data: { ...event.data, metadata: { big: 1n } } } as AgentExecutionEvent);
      }),
    });
    expect(stateOf(await send(replica, request('go')))).toBe('FAILED');
  });

  test('and goes on after the end says nothing that is stored or streamed', async () => {
    const late = gate();
    const done = gate();
    const replica = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED, 'first'));
        bus.publish(statusEvent(context, TASK_STATE_WORKING, 'more'));
        await late.passed;
        bus.publish(artifactEvent(context, 'late', false));
        bus.publish(undefined as never);
        done.open();
      }),
    });
    const events = await stream(replica, request('go'));
    late.open();
    await done.passed;
    const { payload } = events[0]!;
    const taskId = payload?.$case === 'task' ? payload.value.id : '';
    expect(told(events)).toEqual(['task', 'COMPLETED']);
    expect(await logOf(replica.database, taskId)).toEqual(['task/1', 'statusUpdate/1']);
  });

  test('and calls finished() or drops listeners changes nothing for its callers', async () => {
    const replica = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.finished();
        bus.removeAllListeners();
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
        bus.finished();
      }),
    });
    expect(told(await stream(replica, request('go')))).toEqual(['task', 'COMPLETED']);
  });

  test('and leaves lists out of its events is understood as the codec would', async () => {
    const replica = await start({
      executor: executor(async ({ taskId, contextId }, bus) => {
        const status = { state: TASK_STATE_WORKING };
        bus.publish({ kind: 'task', data: { id: taskId, contextId, status } } as AgentExecutionEvent);
        const artifact = { artifactId: 'x', parts: [{ content: { $case: 'text', value: '1' } }] };
        bus.publish({ kind: 'artifactUpdate', data: { taskId, contextId, artifact } } as AgentExecutionEvent);
        const data = { taskId, contextId, status: { state: TASK_STATE_COMPLETED } };
        bus.publish({ kind: 'statusUpdate', data } as AgentExecutionEvent);
      }),
    });
    const task = await send(replica, request('go'));
    expect(stateOf(task)).toBe('COMPLETED');
    const read = await replica.handler.getTask(
      { id: task.id, tenant: '', historyLength: undefined },
      contextOf(),
    );
    expect(read).toEqual(task);
  });

  test('and changes an object it has published changes nothing that was stored', async () => {
    const replica = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        const event = artifactEvent(context, 'as published', false) as Extract<
          AgentExecutionEvent,
          { kind: 'artifactUpdate' }
        >;
        bus.publish(event);
        event.data.artifact!.parts.length = 0;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    expect((await send(replica, request('go'))).artifacts[0]?.parts).toHaveLength(1);
  });

  test('and is too far ahead of the database is stopped: FAILED with reason backlog', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const stopped = gate();
    const replica = await start({
      database: faulty.database,
      handler: { maxQueuedBytes: 2_000 },
      executor: executor(async (context, bus) => {
        turnOf(context).signal.addEventListener('abort', () => stopped.open());
        bus.publish(taskEvent(context));
        await turnOf(context).held;
        faulty.next('commit', 'frozen');
        for (let i = 0; i < 30; i++) bus.publish(artifactEvent(context, 'x'.repeat(100), i > 0));
        await stopped.passed;
      }),
    });
    const answer = send(replica, request('go'));
    await stopped.passed;
    await until(() => faulty.calls('commit') > 0);
    faulty.thaw();
    const task = await answer;
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'backlog']);
    expect(task.artifacts[0]!.parts.length).toBeLessThan(30);
  });
});

describe('an answer by a message', () => {
  const byMessage = executor(async (context, bus) => bus.publish(messageEvent(context)));

  test('to a new message stores nothing, and is the last of a stream', async () => {
    const replica = await start({ executor: byMessage });
    const answer = (await replica.handler.sendMessage(request('go'), contextOf())) as Message;
    expect(answer.messageId).toBe('m-hello');
    expect(told(await stream(replica, request('go')))).toEqual(['message']);
    expect(await replica.database.tasks.list({ scope: null, limit: 10 })).toMatchObject({ total: 0 });
    expect(replica.handler.runningTurns).toBe(0);
  });

  test('to a follow-up leaves the task parked as it was, without a lease', async () => {
    const replica = await start({
      executor: asksThen(async (context, bus) => bus.publish(messageEvent(context))),
    });
    const { id } = await send(replica, request('go'));
    const answer = (await replica.handler.sendMessage(request('?', { taskId: id }), contextOf())) as Message;
    expect(answer.messageId).toBe('m-hello');
    await until(async () => (await replica.database.leases.listLeases(10)).length === 0);
    expect((await replica.database.journal.look({ taskId: id }))?.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });
});

describe('a turn that stops without ending its task', () => {
  test('may be kept as it is, and its caller is answered then', async () => {
    const replica = await start({
      handler: { incompleteTurn: 'keep' },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_WORKING));
      }),
    });
    expect(told(await stream(replica, request('go')))).toEqual(['task', 'WORKING']);
    expect(stateOf(await send(replica, request('go')))).toBe('WORKING');
    expect(await replica.database.leases.listLeases(10)).toEqual([]);
  });

  test('fails an accepted follow-up that said nothing', async () => {
    const replica = await start({ executor: asksThen(async () => {}) });
    const { id } = await send(replica, request('go'));
    const task = await send(replica, request('this', { taskId: id }));
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'turn_incomplete']);
  });

  test('answers a blocking caller when it needs credentials, and goes on', async () => {
    const go = gate();
    const replica = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_AUTH_REQUIRED));
        await go.passed;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    const task = await send(replica, request('go'));
    expect(stateOf(task)).toBe('AUTH_REQUIRED');
    go.open();
    const at = (): Promise<Task> =>
      replica.handler.getTask({ id: task.id, tenant: '', historyLength: undefined }, contextOf());
    await until(async () => stateOf(await at()) === 'COMPLETED');
  });

  test('is let go of after the time a parked task may be lingered on, task as it was', async () => {
    const aborted = gate();
    const replica = await start({
      handler: { interruptedTurnTimeoutMs: 50 },
      executor: executor((context, bus) => {
        turnOf(context).signal.addEventListener('abort', () => aborted.open());
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
        return new Promise(() => {});
      }),
    });
    const { id } = await send(replica, request('go'));
    await aborted.passed;
    await until(async () => (await replica.database.leases.listLeases(10)).length === 0);
    expect(await logOf(replica.database, id)).toEqual(['task/1', 'statusUpdate/1']);
  });

  test('is not let go of when only the turn before it parked the task', async () => {
    const finish = gate();
    const replica = await start({
      handler: { interruptedTurnTimeoutMs: 30 },
      executor: asksThen(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(artifactEvent(context, 'thinking', false));
        await finish.passed;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    const { id } = await send(replica, request('go'));
    const answer = stream(replica, request('this', { taskId: id }));
    setTimeout(() => finish.open(), 120);
    expect(told(await answer)).toEqual(['task', 'artifactUpdate', 'COMPLETED']);
  });
});

describe('what an executor is told of its turn', () => {
  test('a new task is held from its first stored event on', async () => {
    const facts: unknown[] = [];
    const replica = await start({
      executor: executor(async (context, bus) => {
        const turn = turnOf(context);
        facts.push(turn.epoch, turn.remainingMs, turn.attempt);
        expect(() => turn.assertHeld()).toThrow('may not act');
        bus.publish(taskEvent(context));
        facts.push(await turn.held, turn.epoch);
        turn.assertHeld();
        bus.publish(statusEvent(context, TASK_STATE_WORKING));
        await turn.drained();
        facts.push((await logOf(replica.database, context.taskId)).length);
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    expect(stateOf(await send(replica, request('go')))).toBe('COMPLETED');
    expect(facts).toEqual([undefined, 0, 1, 1, 1, 2]);
  });

  test('a cancel fires the signal and calls cancelTask, both with the executor still running', async () => {
    const seen: string[] = [];
    const replica = await start({
      executor: executor(
        async (context, bus) => {
          bus.publish(taskEvent(context));
          await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
          seen.push('signal');
        },
        async () => void seen.push('cancelTask'),
      ),
    });
    const { id } = await send(replica, request('go', { immediately: true }));
    expect(stateOf(await cancel(replica, id))).toBe('CANCELED');
    expect(seen).toEqual(['cancelTask', 'signal']);
    expect(
      statusText(await replica.handler.getTask({ id, tenant: '', historyLength: 1 }, contextOf())),
    ).toMatch(/cancellation/);
  });
});

const huge = 'x'.repeat(20_000);

function messageEvent(context: RequestContext): Extract<AgentExecutionEvent, { kind: 'message' }> {
  return { kind: 'message', data: agentMessage(context, 'hello') };
}
