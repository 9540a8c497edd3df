import { describe, expect, test } from '@jest/globals';
import { Role, TaskState, type Message, type SendMessageRequest, type Task } from '@a2a-js/sdk';
import { ServerCallContext } from '@a2a-js/sdk/server';
import type { Database } from '@a2a-cluster/db';
import { artifactEvent, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { resolveHandlerOptions } from '../src/index.js';
import {
  collect,
  contextOf,
  executor,
  gate,
  logOf,
  reasonOf,
  replicasOfTest,
  request,
  send,
  stateOf,
  statusText,
  subscribe,
  until,
  type TestReplica,
} from './support.js';

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_WORKING } = TaskState;
const start = replicasOfTest();
const quick = { ttlMs: 3_000, heartbeatMs: 500 };

const asking = executor(async (context, bus) => {
  bus.publish(taskEvent(context));
  bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
});

/** An agent that works until the gate opens. */
const waiting = (finish: Promise<unknown>) =>
  executor(async (context, bus) => {
    bus.publish(taskEvent(context));
    bus.publish(statusEvent(context, TASK_STATE_WORKING));
    await finish;
    bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
  });

const anonymous = (): ServerCallContext =>
  new ServerCallContext({ requestedVersion: '1.0', user: { isAuthenticated: false, userName: '' } });

const part = (text: string, more: object = {}): Message['parts'][number] => ({
  ...{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' },
  ...more,
});

function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {};
  for (let level = 1; level < levels; level++) value = { value };
  return value;
}

/** Everything that a request could have left behind. */
async function traces(database: Database, taskId?: string): Promise<unknown> {
  const { rows } = await database.tasks.list({ scope: null, limit: 100 });
  const logs = await Promise.all(rows.map((row) => logOf(database, row.taskId)));
  const leases = await database.leases.readLeases([...rows.map((row) => row.taskId), taskId ?? '']);
  return { rows, logs, leases };
}

/** Sends both ways, and expects the same refusal and no trace of it. */
async function expectRefusal(
  replica: TestReplica,
  message: SendMessageRequest,
  expected: { readonly metadata: object; readonly context?: ServerCallContext },
): Promise<void> {
  const { metadata, context = contextOf() } = expected;
  const before = await traces(replica.database, message.message?.taskId);
  const running = replica.handler.runningTurns;
  const matching = expect.objectContaining({ metadata });
  await expect(replica.handler.sendMessage(message, context)).rejects.toEqual(matching);
  await expect(collect(replica.handler.sendMessageStream(message, context))).rejects.toEqual(matching);
  expect(await traces(replica.database, message.message?.taskId)).toEqual(before);
  expect(replica.handler.runningTurns).toBe(running);
}

describe('a message', () => {
  test('has at most so many parts', async () => {
    const replica = await start({ executor: asking, handler: { maxMessageParts: 3 } });
    const parts = (count: number): Message['parts'] => Array.from({ length: count }, (_, n) => part(`${n}`));
    const metadata = { reason: 'TOO_MANY_PARTS', limit: '3' };
    await expectRefusal(replica, request('', { parts: parts(4) }), { metadata });
    const task = await send(replica, request('', { parts: parts(3) }));
    expect(task.history[0]?.parts).toHaveLength(3);
  });

  test.each<[string, (levels: number) => SendMessageRequest]>([
    ['the metadata of the request', (levels) => ({ ...request('x'), metadata: nested(levels) })],
    ['the metadata of the message', (levels) => request('x', { metadata: nested(levels) })],
    [
      'the metadata of a part',
      (levels) => request('x', { parts: [part('x', { metadata: nested(levels) })] }),
    ],
    [
      'a part of data',
      (levels) => request('x', { parts: [part('', { content: { $case: 'data', value: nested(levels) } })] }),
    ],
  ])('is nested at most so deep: %s', async (_what, of) => {
    const replica = await start({ executor: asking, handler: { maxMetadataDepth: 5 } });
    await expectRefusal(replica, of(6), { metadata: { reason: 'NESTED_TOO_DEEP', limit: '5' } });
    await expectRefusal(replica, of(50_000), { metadata: { reason: 'NESTED_TOO_DEEP', limit: '5' } });
    expect(stateOf(await send(replica, of(5)))).toBe('INPUT_REQUIRED');
  });

  test('asks for a whole number of messages of history', async () => {
    const replica = await start({ executor: asking });
    const message = request('x');
    for (const historyLength of [1.5, Number.NaN]) {
      const asked = { ...message, configuration: { ...message.configuration!, historyLength } };
      await expect(send(replica, asked)).rejects.toThrow('historyLength must be a whole number');
    }
    expect((await replica.database.tasks.list({ scope: null, limit: 1 })).rows).toEqual([]);
  });

  test('to cancel is nested at most so deep', async () => {
    const replica = await start({ executor: asking });
    const { id } = await send(replica, request('x'));
    const cancel = (levels: number): Promise<unknown> =>
      replica.handler.cancelTask({ id, tenant: '', metadata: nested(levels) }, contextOf());
    const metadata = { reason: 'NESTED_TOO_DEEP', limit: '32' };
    await expect(cancel(33)).rejects.toEqual(expect.objectContaining({ metadata }));
    await cancel(32);
  });
});

describe('a task', () => {
  test('takes so many messages of its user and not one more', async () => {
    const replica = await start({ executor: asking, handler: { maxTaskMessages: 3 } });
    const task = await send(replica, request('1'));
    for (const text of ['2', '3']) await send(replica, request(text, { taskId: task.id }));
    const metadata = { reason: 'TOO_MANY_MESSAGES', limit: '3' };
    await expectRefusal(replica, request('4', { taskId: task.id }), { metadata });
    const { history } = await replica.handler.getTask({ id: task.id, tenant: '' } as never, contextOf());
    expect(history.filter((message) => message.role === Role.ROLE_USER)).toHaveLength(3);
  });

  test('that is full still answers a message it has', async () => {
    const replica = await start({ executor: asking, handler: { maxTaskMessages: 2 } });
    const task = await send(replica, request('1'));
    const second = request('2', { taskId: task.id });
    await send(replica, second);
    expect(stateOf(await send(replica, second))).toBe('INPUT_REQUIRED');
  });
});

describe('a turn', () => {
  test('of more events than it may have is aborted and ends FAILED', async () => {
    let aborted = false;
    const replica = await start({
      handler: { maxEventsPerTurn: 10 },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        for (let chunk = 0; chunk < 50; chunk++) bus.publish(artifactEvent(context, `${chunk}`, chunk > 0));
        aborted = (context as { signal?: AbortSignal }).signal?.aborted === true;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    const task = await send(replica, request('go'));
    expect([stateOf(task), reasonOf(task), aborted]).toEqual(['FAILED', 'too_many_events', true]);
    expect(statusText(task)).toBe('The agent produced more events than one turn may have.');
    // Ten of the agent's and the end.
    expect(await logOf(replica.database, task.id)).toHaveLength(11);
    expect(await replica.database.leases.readLeases([task.id])).toEqual([]);
  });

  test('may have exactly as many, and so may the next one', async () => {
    const replica = await start({
      handler: { maxEventsPerTurn: 3 },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(artifactEvent(context, 'x', false));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      }),
    });
    const { id } = await send(replica, request('go'));
    expect(stateOf(await send(replica, request('on', { taskId: id })))).toBe('INPUT_REQUIRED');
  });
});

describe('the turns of one owner', () => {
  const owner = { reason: 'TOO_MANY_TURNS', scope: 'owner', retryAfterMs: '500' };

  test('are limited, those of another are not, and a place is free again when a turn has ended', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: waiting(finish.passed),
      handler: { maxTurnsPerOwner: 2 },
    });
    await send(replica, request('1', { immediately: true }));
    await send(replica, request('2', { immediately: true }));
    await expectRefusal(replica, request('3'), { metadata: owner });
    const bobs = replica.handler.sendMessage(request('4', { immediately: true }), contextOf('bob'));
    expect(stateOf((await bobs) as Task)).not.toBe('FAILED');
    finish.open();
    await until(() => replica.handler.runningTurns === 0);
    expect(stateOf(await send(replica, request('5')))).toBe('COMPLETED');
  });

  test('are limited for a follow-up before it takes the lease', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        if (context.userMessage.parts[0]?.content?.value === 'ask')
          return bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
        await finish.passed;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
      handler: { maxTurnsPerOwner: 1 },
    });
    const asked = await send(replica, request('ask'));
    await send(replica, request('wait', { immediately: true }));
    await expectRefusal(replica, request('go on', { taskId: asked.id }), { metadata: owner });
    finish.open();
  });

  test('keep no place that an opening did not use', async () => {
    const replica = await start({ executor: asking, handler: { maxTurnsPerOwner: 1 } });
    for (let n = 0; n < 3; n++)
      await expect(send(replica, request('x', { taskId: 'none' }))).rejects.toThrow('not found');
    expect(stateOf(await send(replica, request('x')))).toBe('INPUT_REQUIRED');
  });

  test('name the replica where the limit is its own', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: waiting(finish.passed),
      handler: { maxConcurrentTurns: 1 },
    });
    await send(replica, request('1', { immediately: true }));
    await expectRefusal(replica, request('2'), { metadata: { ...owner, scope: 'replica' } });
    finish.open();
  });

  test('are not limited for those without a name, unless somebody asked for it', () => {
    const lease = { heartbeatMs: 1, trustMs: 1 };
    const unlimited = { named: 100, unnamed: Number.POSITIVE_INFINITY };
    const given = resolveHandlerOptions({}, lease);
    expect([given.maxTurnsPerOwner, given.maxStreamsPerOwner]).toEqual([unlimited, unlimited]);
    const seven = resolveHandlerOptions({ maxTurnsPerOwner: 7 }, lease);
    expect(seven.maxTurnsPerOwner).toEqual({ named: 7, unnamed: 7 });
  });

  test('are limited for those without a name together, where somebody asked for it', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: waiting(finish.passed),
      handler: { maxTurnsPerOwner: 1 },
    });
    await replica.handler.sendMessage(request('1', { immediately: true }), anonymous());
    await expectRefusal(replica, request('2'), { metadata: owner, context: anonymous() });
    finish.open();
  });
});

describe('open streams', () => {
  const refused = (scope: 'owner' | 'replica'): object =>
    expect.objectContaining({ metadata: { reason: 'TOO_MANY_STREAMS', scope, retryAfterMs: '500' } });

  test('are limited for each owner, sends and subscriptions together, until they end', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: waiting(finish.passed),
      handler: { maxStreamsPerOwner: 2 },
    });
    const sent = replica.handler.sendMessageStream(request('go'), contextOf());
    const first = (await sent.next()).value?.payload;
    const id = first?.$case === 'task' ? first.value.id : '';
    const watched = replica.handler.resubscribe({ id, tenant: '' }, contextOf());
    await watched.next();
    const before = await traces(replica.database);
    await expect(collect(replica.handler.sendMessageStream(request('x'), contextOf()))).rejects.toEqual(
      refused('owner'),
    );
    await expect(subscribe(replica, id)).rejects.toEqual(refused('owner'));
    expect(await traces(replica.database)).toEqual(before);
    expect(replica.handler.runningTurns).toBe(1);
    const bobs = replica.handler.sendMessageStream(request('go'), contextOf('bob'));
    await bobs.next();
    await watched.return();
    const again = replica.handler.resubscribe({ id, tenant: '' }, contextOf());
    await again.next();
    finish.open();
    for (const stream of [sent, again, bobs]) for await (const event of stream) void event;
    expect((await collect(replica.handler.sendMessageStream(request('y'), contextOf()))).length).toBe(3);
  });

  test('are limited for the replica, whoever has them', async () => {
    const finish = gate();
    const replica = await start({
      lease: quick,
      executor: waiting(finish.passed),
      handler: { maxStreams: 1 },
    });
    const open = replica.handler.sendMessageStream(request('go'), contextOf());
    await open.next();
    const another = collect(replica.handler.sendMessageStream(request('x'), anonymous()));
    await expect(another).rejects.toEqual(refused('replica'));
    expect(replica.handler.runningTurns).toBe(1);
    finish.open();
    for await (const event of open) void event;
    await collect(replica.handler.sendMessageStream(request('x'), anonymous()));
  });

  test('that are refused for another reason hold no place', async () => {
    const replica = await start({ executor: asking, handler: { maxStreams: 1 } });
    for (let n = 0; n < 3; n++) await expect(subscribe(replica, 'none')).rejects.toThrow('not found');
    expect(await collect(replica.handler.sendMessageStream(request('x'), contextOf()))).toHaveLength(2);
  });
});
