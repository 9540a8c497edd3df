import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { PushNotificationStore } from '@a2a-js/sdk/server';
import { ClusterError } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { createFaultyDatabase } from '../../task-store/test/faulty-database.js';
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
  statusText,
  stateOf,
  stream,
  subscribe,
  told,
  until,
  type Gate,
} from './support.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const start = replicasOfTest();

/** Asks, lingers until the first gate opens; on a follow-up works until the second one opens. */
function asking(linger: Promise<unknown> = Promise.resolve(), work: Promise<unknown> = Promise.resolve()) {
  const calls: string[] = [];
  return {
    calls,
    ...executor(async (context, bus) => {
      calls.push(context.userMessage.messageId);
      bus.publish(taskEvent(context));
      if (!context.task) {
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED, 'which?'));
        await linger;
        return;
      }
      bus.publish(statusEvent(context, TASK_STATE_WORKING));
      await work;
      bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
    }),
  };
}

const busy = { metadata: { reason: 'TASK_BUSY' } };

describe('a follow-up', () => {
  test('is told the task with its own message, and who it is from', async () => {
    const seen: number[] = [];
    const replica = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        if (!context.task) return bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
        seen.push(context.task.history.length);
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    const { id } = await send(replica, request('go'));
    const task = await send(replica, request('this', { taskId: id }));
    expect(stateOf(task)).toBe('COMPLETED');
    expect(seen).toEqual([2]);
    expect(task.history).toHaveLength(2);
  });

  test('to a lingering holder is answered as soon as that lets go, long before the next poll', async () => {
    const database = createMemoryDatabase();
    const linger = gate();
    const options = { database, pollIntervalMs: 60_000, lease: { ttlMs: 60_000, heartbeatMs: 20_000 } };
    const a = await start({ ...options, executor: asking(linger.passed) });
    const { id } = await send(a, request('go'));
    const answer = send(a, request('this', { taskId: id }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    linger.open();
    expect(stateOf(await answer)).toBe('COMPLETED');
  });

  test('refused just before the holder let go elsewhere does not wait for a hint that came too early', async () => {
    const inner = createMemoryDatabase();
    const linger = gate();
    const lease = { ttlMs: 60_000, heartbeatMs: 20_000 };
    const a = await start({ database: inner, lease, executor: asking(linger.passed) });
    const { id } = await send(a, request('go'));
    // The other replica's refusal is on its way back while the lease goes.
    const journal = new Proxy(inner.journal, {
      get: (target, name) =>
        name !== 'openTurn'
          ? Reflect.get(target, name)
          : async (open: Parameters<typeof target.openTurn>[0]) => {
              const outcome = await target.openTurn(open);
              linger.open();
              if (!outcome.ok) await until(async () => (await inner.leases.listLeases(1)).length === 0);
              return outcome;
            },
    });
    const b = await start({
      ...{ database: { ...inner, journal }, lease, pollIntervalMs: 60_000 },
      executor: asking(),
    });
    expect(stateOf(await send(b, request('this', { taskId: id })))).toBe('COMPLETED');
  });

  test('to a holder that is stuck is refused after one heartbeat interval, and nothing is kept', async () => {
    const replica = await start({
      lease: { ttlMs: 3_000, heartbeatMs: 150 },
      executor: asking(new Promise(() => {})),
    });
    const { id } = await send(replica, request('go'));
    await expect(send(replica, request('this', { taskId: id }))).rejects.toMatchObject({
      metadata: { reason: 'TASK_BUSY', retryAfterMs: '150' },
    });
    expect(await logOf(replica.database, id)).toEqual(['task/1', 'statusUpdate/1']);
    expect(replica.stream.status().tails).toBe(0);
    expect(replica.handler.runningTurns).toBe(1);
  });

  test('to an abandoned turn ends that turn, unless it is quiet', async () => {
    const database = createMemoryDatabase();
    const quiet = { now: true };
    const a = await start({
      ...{ database, quiet: () => quiet.now },
      executor: executor((context, bus) => {
        bus.publish(taskEvent(context));
        return new Promise(() => {});
      }),
    });
    const { id } = await send(a, request('go', { immediately: true }));
    await database.leases.expireNow(id);
    await expect(send(a, request('this', { taskId: id }))).rejects.toMatchObject(busy);
    quiet.now = false;
    await expect(send(a, request('this', { taskId: id }))).rejects.toThrow('terminal state');
    expect(await logOf(database, id)).toEqual(['task/1', 'statusUpdate/1']);
  });

  test('that names another context, another owner or no task of anybody is refused as such', async () => {
    const replica = await start({ executor: asking() });
    const { id } = await send(replica, request('go'));
    const refused = (message: Parameters<typeof request>[1], user = 'alice'): Promise<unknown> =>
      replica.handler.sendMessage(request('this', message), contextOf(user));
    await expect(refused({ taskId: id, contextId: 'other' })).rejects.toThrow(/context/);
    await expect(refused({ taskId: id }, 'bob')).rejects.toThrow('Task not found');
    await expect(refused({ taskId: 'no-such' })).rejects.toThrow('Task not found');
    await expect(refused({ taskId: 'ends in a space ' })).rejects.toThrow('Task not found');
    await expect(refused({ taskId: ' ' })).rejects.toThrow('Task ID is required');
    expect(await logOf(replica.database, id)).toHaveLength(2);
  });

  test('larger than an event may be is refused before anything is stored', async () => {
    const replica = await start({ executor: asking(), handler: { maxEventBytes: 2_000 } });
    const { id } = await send(replica, request('go'));
    await expect(send(replica, request('x'.repeat(3_000), { taskId: id }))).rejects.toThrow('larger than');
    expect(await logOf(replica.database, id)).toHaveLength(2);
  });

  test('whose task cannot be read at once is read again', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const replica = await start({ database: faulty.database, executor: asking() });
    const { id } = await send(replica, request('go'));
    faulty.next('readTask', 'refused', 'request_lost');
    expect(stateOf(await send(replica, request('this', { taskId: id })))).toBe('COMPLETED');
  });

  test('whose task cannot be read at all ends it FAILED, and its caller hears of the store', async () => {
    const inner = createMemoryDatabase();
    const broken = { now: false };
    const log = new Proxy(inner.log, {
      get: (target, name) =>
        name === 'readTask' && broken.now
          ? () => Promise.reject(new ClusterError('ROW_CORRUPT', 'secret of the inside'))
          : Reflect.get(target, name),
    });
    const agent = asking();
    const replica = await start({ database: { ...inner, log }, executor: agent });
    const { id } = await send(replica, request('go'));
    broken.now = true;
    const refused = send(replica, request('this', { taskId: id }));
    await expect(refused).rejects.toMatchObject({ metadata: { reason: 'STORE_UNAVAILABLE' } });
    await expect(refused).rejects.not.toThrow('secret');
    broken.now = false;
    expect(await logOf(inner, id)).toEqual(['task/1', 'statusUpdate/1', 'message/3', 'statusUpdate/3']);
    expect(await inner.journal.look({ taskId: id })).toMatchObject({
      state: 'TASK_STATE_FAILED',
      lease: null,
    });
    expect(agent.calls).toHaveLength(1);
    expect(replica.handler.runningTurns).toBe(0);
  });

  test('whose push config cannot be saved fails its task without a word of the inside', async () => {
    const pushConfigs = {
      save: () => Promise.reject(new ClusterError('STORE_FAULT', 'secret of the inside')),
    } as unknown as PushNotificationStore;
    const agent = asking();
    const replica = await start({ executor: agent, pushConfigs });
    const { id } = await send(replica, request('go'));
    const message = request('this', { taskId: id });
    const taskPushNotificationConfig = { url: 'https://x' } as never;
    const configuration = { ...message.configuration!, taskPushNotificationConfig };
    await expect(send(replica, { ...message, configuration })).rejects.toMatchObject({
      metadata: { reason: 'STORE_UNAVAILABLE' },
    });
    const read = { id, tenant: '', historyLength: undefined };
    await until(async () => stateOf(await replica.handler.getTask(read, contextOf())) === 'FAILED');
    expect(statusText(await replica.handler.getTask(read, contextOf()))).not.toContain('secret');
    expect(agent.calls).toHaveLength(1);
    expect(replica.stream.status().tails).toBe(0);
  });
});

describe('the same message again', () => {
  async function running(linger?: Gate) {
    const database = createMemoryDatabase();
    const work = gate();
    const agent = asking(linger?.passed, work.passed);
    const a = await start({ database, executor: agent });
    const b = await start({ database, executor: agent });
    const { id } = await send(a, request('go', { messageId: 'first' }));
    return { database, work, agent, a, b, id };
  }

  test('is answered by the turn that runs, here or elsewhere, and starts no second one', async () => {
    const { work, agent, a, b, id } = await running();
    const original = send(a, request('this', { taskId: id, messageId: 'again' }));
    await until(() => agent.calls.includes('again'));
    const streams = [a, b].map((at) => stream(at, request('this', { taskId: id, messageId: 'again' })));
    const sends = [a, b].map((at) => send(at, request('this', { taskId: id, messageId: 'again' })));
    await until(() => a.stream.status().tails + b.stream.status().tails >= 5);
    work.open();
    expect((await original).status).toEqual((await sends[0])?.status);
    expect(stateOf(await sends[1]!)).toBe('COMPLETED');
    for (const events of streams)
      expect(told(await events)).toEqual(['task', 'task', 'WORKING', 'COMPLETED']);
    expect(agent.calls).toEqual(['first', 'again']);
  });

  test('is answered by the finished turn: the task, then its events', async () => {
    const { work, a, b, id, agent } = await running();
    work.open();
    await send(a, request('this', { taskId: id, messageId: 'again' }));
    const events = await stream(b, request('this', { taskId: id, messageId: 'again' }));
    expect(told(events)).toEqual(['task', 'task', 'WORKING', 'COMPLETED']);
    expect(stateOf(await send(b, request('this', { taskId: id, messageId: 'again' })))).toBe('COMPLETED');
    expect(agent.calls).toHaveLength(2);
  });

  test('is answered at once when the turn has asked its question and lingers', async () => {
    const { a, b, id } = await running(gate());
    for (const at of [a, b]) {
      const task = await send(at, request('go', { taskId: id, messageId: 'first' }));
      expect(stateOf(task)).toBe('INPUT_REQUIRED');
      expect(told(await stream(at, request('go', { taskId: id, messageId: 'first' })))).toEqual([
        'task',
        'INPUT_REQUIRED',
      ]);
    }
  });

  test('is answered FAILED when its turn was lost with its replica', async () => {
    const { database, a, b, id, agent } = await running();
    void send(a, request('this', { taskId: id, messageId: 'again' })).catch(() => {});
    await until(() => agent.calls.includes('again'));
    await database.leases.expireNow(id);
    const repeated = send(b, request('this', { taskId: id, messageId: 'again' }));
    await b.journal.sweep({ limit: 1, sweeper: 's', statusTimestamp: '', text: 'lost', taskId: id });
    const task = await repeated;
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'replica_lost']);
  });
});

describe('a subscription', () => {
  test('stays open on a parked task and follows the next turn, wherever that runs', async () => {
    const database = createMemoryDatabase();
    const a = await start({ database, executor: asking() });
    const b = await start({ database, executor: asking() });
    const { id } = await send(a, request('go'));
    const seen = subscribe(b, id);
    await until(() => b.stream.status().tails === 1);
    await send(a, request('this', { taskId: id }));
    expect(told(await seen)).toEqual(['task', 'task', 'WORKING', 'COMPLETED']);
    await expect(subscribe(a, id)).rejects.toThrow('cannot be subscribed');
    expect(a.stream.status().tails + b.stream.status().tails).toBe(0);
  });

  test('that is given up frees its tail', async () => {
    const replica = await start({ executor: asking() });
    const { id } = await send(replica, request('go'));
    const events = replica.handler.resubscribe({ id, tenant: '' }, contextOf());
    await events.next();
    expect(replica.stream.status().tails).toBe(1);
    await events.return(undefined);
    expect(replica.stream.status().tails).toBe(0);
  });

  test("to nothing, or to what is another's, is refused", async () => {
    const replica = await start({ executor: asking() });
    const { id } = await send(replica, request('go'));
    await expect(subscribe(replica, 'no-such')).rejects.toThrow('Task not found');
    const other = collect(replica.handler.resubscribe({ id, tenant: '' }, contextOf('bob')));
    await expect(other).rejects.toThrow('Task not found');
    expect(replica.stream.status().tails).toBe(0);
  });
});
