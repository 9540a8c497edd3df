import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { createFaultyDatabase } from '../../task-store/test/faulty-database.js';
import { turnOf } from '../src/index.js';
import {
  cancel,
  executor,
  gate,
  logOf,
  reasonOf,
  replicasOfTest,
  request,
  send,
  stateOf,
  stream,
  told,
  until,
} from './support.js';
import { deaf } from './deaf-agent.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_CANCELED } =
  TaskState;
const start = replicasOfTest();
const quick = { ttlMs: 3_000, heartbeatMs: 50, cancelGraceMs: 150 };

describe('a cancel', () => {
  test.each(['the holder', 'another replica'])(
    'through %s stands after the grace when the agent is deaf, once, and nothing follows it',
    async (where) => {
      const database = createMemoryDatabase();
      const agent = deaf();
      const a = await start({ database, lease: quick, executor: agent });
      const b = await start({ database, lease: quick, executor: agent });
      const events = stream(a, request('go'));
      await agent.started;
      const { rows } = await database.tasks.list({ scope: null, limit: 1 });
      const { taskId } = rows[0]!;
      const answers = await Promise.all(
        (where === 'the holder' ? [a, a] : [b, b, a]).map((at) => cancel(at, taskId)),
      );
      expect(answers.map(stateOf)).toEqual(answers.map(() => 'CANCELED'));
      agent.late.open();
      expect(told(await events)).toEqual(['task', 'WORKING', 'CANCELED']);
      await until(() => a.handler.runningTurns === 0);
      expect(await logOf(database, taskId)).toEqual(['task/1', 'statusUpdate/1', 'statusUpdate/1']);
      expect(await database.leases.listLeases(10)).toEqual([]);
      expect(stateOf(await cancel(b, taskId))).toBe('CANCELED');
    },
  );

  test('of a holder that is gone stands after the grace, without it', async () => {
    const database = createMemoryDatabase();
    const agent = deaf();
    const a = await start({ database, lease: quick, executor: agent });
    const b = await start({ database, lease: quick, executor: agent });
    const { id } = await send(a, request('go', { immediately: true }));
    await a.heartbeat.close();
    await a.stream.close();
    expect(stateOf(await cancel(b, id))).toBe('CANCELED');
    agent.late.open();
    await until(async () => (await database.leases.listLeases(10)).length === 0);
    expect((await logOf(database, id)).at(-1)).toBe('statusUpdate/1');
  });

  test('of a follow-up that has said nothing ends it CANCELED', async () => {
    const waiting = gate();
    const database = createMemoryDatabase();
    const agent = executor(async (context, bus) => {
      if (context.task) {
        waiting.open();
        return new Promise(() => {});
      }
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
    });
    const a = await start({ database, lease: quick, executor: agent });
    const { id } = await send(a, request('go'));
    const answer = send(a, request('this', { taskId: id }));
    await waiting.passed;
    expect(stateOf(await cancel(a, id))).toBe('CANCELED');
    expect(stateOf(await answer)).toBe('CANCELED');
  });

  test('of a parked task whose turn lingers ends it, as does one of a parked task without a turn', async () => {
    const database = createMemoryDatabase();
    const a = await start({
      ...{ database, lease: quick },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
        if (context.userMessage.messageId !== 'short')
          await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
      }),
    });
    const lingering = await send(a, request('go'));
    expect(stateOf(await cancel(a, lingering.id))).toBe('CANCELED');
    const parked = await send(a, request('go', { messageId: 'short' }));
    await until(async () => (await database.leases.listLeases(10)).length === 0);
    expect(stateOf(await cancel(a, parked.id))).toBe('CANCELED');
    expect(await logOf(database, parked.id)).toHaveLength(3);
  });

  test.each([
    ['its agent returns', false],
    ['it lingered', true],
  ])(
    'of a turn that is let go as %s, unheard by it and its canceller gone, ends the task',
    async (_how, lingers) => {
      const inner = createMemoryDatabase();
      const leases = new Proxy(inner.leases, {
        get: (target, name) =>
          name !== 'release'
            ? Reflect.get(target, name)
            : async (key: Parameters<typeof target.release>[0]) => {
                await target.markCancel(key);
                return target.release(key);
              },
      });
      const lease = { ttlMs: 60_000, heartbeatMs: 20_000 };
      const a = await start({
        ...{ database: { ...inner, leases }, lease, pollIntervalMs: 60_000 },
        ...(lingers && { handler: { interruptedTurnTimeoutMs: 20 } }),
        executor: executor(async (context, bus) => {
          bus.publish(taskEvent(context));
          bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
          if (lingers) await new Promise(() => {});
        }),
      });
      const { id } = await send(a, request('go'));
      await until(() => a.handler.runningTurns === 0);
      expect(await inner.journal.look({ taskId: id })).toMatchObject({
        state: 'TASK_STATE_CANCELED',
        lease: null,
      });
      expect(await logOf(inner, id)).toEqual(['task/1', 'statusUpdate/1', 'statusUpdate/1']);
      expect(a.heartbeat.status().heldCount).toBe(0);
      expect(stateOf(await cancel(a, id))).toBe('CANCELED');
    },
  );

  test('of a turn that is let go is not written by a replica that lost it', async () => {
    const inner = createMemoryDatabase();
    const swept = gate();
    const leases = new Proxy(inner.leases, {
      get: (target, name) =>
        name !== 'release'
          ? Reflect.get(target, name)
          : async (key: Parameters<typeof target.release>[0]) => {
              await target.markCancel(key);
              const outcome = await target.release(key);
              await target.expireNow(key.taskId);
              const batch = { limit: 1, sweeper: 'b', statusTimestamp: '', text: 'lost', taskId: key.taskId };
              await inner.journal.sweep(batch);
              swept.open();
              return outcome;
            },
    });
    const a = await start({
      database: { ...inner, leases },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      }),
    });
    const { id } = await send(a, request('go'));
    await swept.passed;
    await until(() => a.handler.runningTurns === 0);
    expect(await logOf(inner, id)).toEqual(['task/1', 'statusUpdate/1']);
    expect(a.heartbeat.status().heldCount).toBe(0);
  });

  test('that the agent answers itself keeps its words; one that lost the race is told so', async () => {
    const database = createMemoryDatabase();
    const agent = (end: TaskState): ReturnType<typeof executor> =>
      executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
        bus.publish(statusEvent(context, end, 'own words'));
      });
    const a = await start({ database, executor: agent(TASK_STATE_CANCELED) });
    const b = await start({ database, executor: agent(TASK_STATE_COMPLETED) });
    const first = await send(a, request('go', { immediately: true }));
    expect((await cancel(b, first.id)).status?.message?.messageId).toBe('m-own words');
    const second = await send(b, request('go', { immediately: true }));
    await expect(cancel(a, second.id)).rejects.toThrow('not cancelable');
    await expect(cancel(a, 'no-such')).rejects.toThrow('Task not found');
  });

  test.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['never returns', () => new Promise<void>(() => {})],
  ])("ends the task also when the agent's cancelTask %s", async (_how, cancelTask) => {
    const a = await start({
      lease: quick,
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
        throw new Error('aborted');
      }, cancelTask),
    });
    const { id } = await send(a, request('go', { immediately: true }));
    expect(stateOf(await cancel(a, id))).toBe('CANCELED');
  });
});

describe('a lost lease', () => {
  test('stops the executor, mutes it, writes nothing, and callers follow the log', async () => {
    const database = createMemoryDatabase();
    const told_: string[] = [];
    const agent = deaf();
    const a = await start({
      ...{ database, lease: quick },
      executor: {
        execute: agent.execute,
        cancelTask: async (taskId, bus) => {
          told_.push('cancelTask');
          bus.publish(statusEvent({ taskId, contextId: '' } as never, TASK_STATE_CANCELED));
        },
      },
    });
    const events = stream(a, request('go'));
    await agent.started;
    const { rows } = await database.tasks.list({ scope: null, limit: 1 });
    const { taskId } = rows[0]!;
    await database.leases.expireNow(taskId);
    // The sweeper of another replica, of which this one only sees the rows.
    await database.journal.sweep({ limit: 1, sweeper: 'b', statusTimestamp: '', text: 'lost', taskId });
    expect(told(await events)).toEqual(['task', 'WORKING', 'FAILED']);
    expect(told_).toEqual(['cancelTask']);
    expect(a.handler.runningTurns).toBe(0);
    agent.late.open();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await logOf(database, taskId)).toEqual(['task/1', 'statusUpdate/1', 'statusUpdate/1']);
  });

  test('by a blocked event loop is put down to that, though other news of it comes first', async () => {
    const lines: (Readonly<Record<string, unknown>> & { readonly msg: string })[] = [];
    const note = (fields: Readonly<Record<string, unknown>>, msg: string): void =>
      void lines.push({ ...fields, msg });
    const database = createMemoryDatabase();
    const agent = deaf();
    const a = await start({
      ...{ database, executor: agent, logger: { debug: note, info: note, warn: note, error: note } },
      lease: { ttlMs: 2_000, marginMs: 1_800, heartbeatMs: 50, renewalTimeoutMs: 50, sweepIntervalMs: 100 },
    });
    const { id } = await send(a, request('go', { immediately: true }));
    await agent.started;
    for (const endMs = performance.now() + 700; performance.now() < endMs;);
    // What the dispatcher's query brings, in the timer phase after the block, before the deadline's own timer.
    a.turns.find(id)?.lose('the task has ended');
    expect(a.handler.runningTurns).toBe(0);
    expect(lines.find(({ msg }) => msg === 'lease lost')?.['why']).toContain('event loop was blocked');
    expect(lines.filter(({ msg }) => msg === 'lost the turn').map(({ cause }) => cause)).toEqual([
      'the lease: deadline',
    ]);
    agent.late.open();
  });

  test('before the executor was started keeps it from starting', async () => {
    const inner = createMemoryDatabase();
    const reading = { hook: null as null | (() => Promise<void>) };
    const log = new Proxy(inner.log, {
      get: (target, name) =>
        name !== 'readTask'
          ? Reflect.get(target, name)
          : async (read: Parameters<typeof target.readTask>[0]) => {
              const stored = await target.readTask(read);
              await reading.hook?.();
              return stored;
            },
    });
    const calls: string[] = [];
    const a = await start({
      database: { ...inner, log },
      lease: { ttlMs: 2_000, marginMs: 1_900, heartbeatMs: 30, renewalTimeoutMs: 30, sweepIntervalMs: 100 },
      executor: executor(async (context, bus) => {
        calls.push(context.userMessage.messageId);
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      }),
    });
    const { id } = await send(a, request('go', { messageId: 'one' }));
    reading.hook = async () => {
      reading.hook = null;
      // Longer than the lease can be trusted.
      await new Promise((resolve) => setTimeout(resolve, 150));
      await inner.leases.expireNow(id);
      await inner.journal.sweep({ limit: 1, sweeper: 'b', statusTimestamp: '', text: 'lost', taskId: id });
    };
    const task = await send(a, request('this', { taskId: id, messageId: 'two' }));
    expect([stateOf(task), reasonOf(task)]).toEqual(['FAILED', 'replica_lost']);
    expect(calls).toEqual(['one']);
    await until(() => a.handler.runningTurns === 0);
  });

  test('of a new task whose first write hangs is told as unknown in time, and its place is given back', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const a = await start({
      ...{ database: faulty.database, handler: { maxConcurrentTurns: 1 } },
      lease: { ttlMs: 2_000, marginMs: 1_800, heartbeatMs: 50, renewalTimeoutMs: 50, sweepIntervalMs: 100 },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
      }),
    });
    faulty.always((statement) => (statement === 'createTask' ? 'frozen' : undefined));
    const unknown = { metadata: { reason: 'OUTCOME_UNKNOWN' } };
    await expect(send(a, request('go'))).rejects.toMatchObject(unknown);
    await expect(stream(a, request('go'))).rejects.toMatchObject(unknown);
    expect(a.handler.runningTurns).toBe(0);
    expect(a.stream.status().tails).toBe(0);
    faulty.thaw();
  });

  test('by a database that refuses its events for a whole TTL is given up, not failed', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const stopped = gate();
    const a = await start({
      database: faulty.database,
      lease: { ttlMs: 1_500, heartbeatMs: 100, marginMs: 200, sweepIntervalMs: 100 },
      executor: executor(async (context, bus) => {
        turnOf(context).signal.addEventListener('abort', () => stopped.open());
        bus.publish(taskEvent(context));
        await turnOf(context).held;
        faulty.always((statement) => (statement === 'commit' ? 'refused' : undefined));
        bus.publish(statusEvent(context, TASK_STATE_WORKING));
        await stopped.passed;
      }),
    });
    const { id } = await send(a, request('go', { immediately: true }));
    await stopped.passed;
    expect(a.handler.runningTurns).toBe(0);
    expect(await logOf(faulty.database, id)).toEqual(['task/1']);
  });
});
