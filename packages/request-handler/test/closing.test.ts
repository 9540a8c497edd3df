import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { agentMessage, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { createFaultyDatabase } from '../../task-store/test/faulty-database.js';
import { turnOf } from '../src/index.js';
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
  stateOf,
  stream,
  subscribe,
  told,
  until,
} from './support.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const start = replicasOfTest();
const soon = { drainTimeoutMs: 50, fail: true, writeTimeoutMs: 1_000 };

/** Publishes these, then never returns. */
function stuck(publish: (context: RequestContext, bus: ExecutionEventBus) => void) {
  const aborted = gate();
  const started = gate();
  return {
    aborted: aborted.passed,
    started: started.passed,
    ...executor((context, bus) => {
      turnOf(context).signal.addEventListener('abort', () => aborted.open());
      publish(context, bus);
      started.open();
      return new Promise(() => {});
    }),
  };
}

describe('a replica that closes', () => {
  test('lets a running turn finish, refuses new ones, and still reads and subscribes', async () => {
    const finish = gate();
    const a = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await finish.passed;
        bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
      }),
    });
    const { id } = await send(a, request('go', { immediately: true }));
    const closing = a.handler.closeTurns({ ...soon, drainTimeoutMs: 5_000 });
    const draining = { metadata: { reason: 'REPLICA_DRAINING' } };
    await expect(send(a, request('go'))).rejects.toMatchObject(draining);
    await expect(stream(a, request('this', { taskId: id }))).rejects.toMatchObject(draining);
    const seen = subscribe(a, id);
    const read = await a.handler.getTask({ id, tenant: '', historyLength: undefined }, contextOf());
    expect(stateOf(read)).toBe('SUBMITTED');
    finish.open();
    await closing;
    expect(told(await seen)).toEqual(['task', 'COMPLETED']);
  });

  test('ends what is left FAILED with reason shutdown, and its callers have that before close resolves', async () => {
    const agent = stuck((context, bus) => bus.publish(taskEvent(context)));
    const a = await start({ executor: agent });
    const events = a.handler.sendMessageStream(request('go'), contextOf());
    await events.next();
    const closing = { done: false };
    const closed = a.handler.closeTurns(soon).then(() => (closing.done = true));
    const { value } = await events.next();
    expect(told([value!])).toEqual(['FAILED']);
    expect(closing.done).toBe(false);
    await events.next();
    await closed;
    await agent.aborted;
  });

  test('ends a turn that has said nothing yet as a FAILED task that its caller is given', async () => {
    const agent = stuck(() => {});
    const a = await start({ executor: agent });
    const answer = send(a, request('go'));
    await agent.started;
    await a.handler.closeTurns(soon);
    expect([stateOf(await answer), reasonOf(await answer)]).toEqual(['FAILED', 'shutdown']);
  });

  test('lets go of a parked task and leaves it as it was', async () => {
    const database = createMemoryDatabase();
    const agent = stuck((context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
    });
    const a = await start({ database, executor: agent });
    const { id } = await send(a, request('go'));
    await a.handler.closeTurns(soon);
    await agent.aborted;
    expect(await logOf(database, id)).toEqual(['task/1', 'statusUpdate/1']);
    expect(await database.leases.listLeases(10)).toEqual([]);
  });

  test('is not done before the lease of a turn that was letting go is gone', async () => {
    const inner = createMemoryDatabase();
    const going = gate();
    const gone = gate();
    const leases = new Proxy(inner.leases, {
      get: (target, name) =>
        name !== 'release'
          ? Reflect.get(target, name)
          : async (key: Parameters<typeof target.release>[0]) => {
              going.open();
              await gone.passed;
              return target.release(key);
            },
    });
    const a = await start({
      database: { ...inner, leases },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      }),
    });
    await send(a, request('go'));
    await going.passed;
    const closed = a.handler.closeTurns(soon).then(async () => inner.leases.listLeases(10));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(a.handler.runningTurns).toBe(1);
    gone.open();
    expect(await closed).toEqual([]);
  });

  test('makes no task of an agent that had answered by a message', async () => {
    const agent = stuck((context, bus) =>
      bus.publish({ kind: 'message', data: agentMessage(context, 'hello') }),
    );
    const a = await start({ executor: agent });
    expect(told(await stream(a, request('go')))).toEqual(['message']);
    await a.handler.closeTurns(soon);
    expect(await a.database.tasks.list({ scope: null, limit: 1 })).toMatchObject({ total: 0 });
    expect(a.handler.runningTurns).toBe(0);
  });

  test('may leave its turns to others: the lease stays, nothing is written', async () => {
    const agent = stuck((context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TASK_STATE_WORKING));
    });
    const a = await start({ executor: agent });
    const { id } = await send(a, request('go', { immediately: true }));
    await until(async () => (await logOf(a.database, id)).length === 2);
    await a.handler.closeTurns({ ...soon, fail: false });
    await agent.aborted;
    expect(await logOf(a.database, id)).toEqual(['task/1', 'statusUpdate/1']);
    expect(await a.database.leases.listLeases(10)).toMatchObject([{ taskId: id }]);
    expect(a.handler.runningTurns).toBe(0);
  });

  test.each(['frozen', 'refused'] as const)(
    'is done in time when the database is away (%s)',
    async (fault) => {
      const faulty = createFaultyDatabase(createMemoryDatabase());
      const agent = stuck((context, bus) => bus.publish(taskEvent(context)));
      const a = await start({ database: faulty.database, executor: agent });
      await send(a, request('go', { immediately: true }));
      faulty.always((statement) => (statement === 'commit' ? fault : undefined));
      const startedAt = performance.now();
      await a.handler.closeTurns({ drainTimeoutMs: 50, fail: true, writeTimeoutMs: 200 });
      expect(performance.now() - startedAt).toBeLessThan(1_000);
      expect(a.handler.runningTurns).toBe(0);
      faulty.thaw();
    },
  );

  test('does not start a turn whose opening outlasted the close', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const calls: string[] = [];
    const a = await start({
      database: faulty.database,
      executor: executor(async (context, bus) => {
        calls.push(context.userMessage.messageId);
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      }),
    });
    const { id } = await send(a, request('go', { messageId: 'one' }));
    faulty.next('openTurn', 'frozen');
    const late = send(a, request('this', { taskId: id, messageId: 'two' }));
    await until(() => faulty.calls('openTurn') === 1);
    await a.handler.closeTurns(soon);
    faulty.thaw();
    await expect(late).rejects.toMatchObject({ metadata: { reason: 'REPLICA_DRAINING' } });
    expect(calls).toEqual(['one']);
    // Left for a sweeper, which knows by the mark that nobody has heard the follow-up.
    await until(async () => (await faulty.database.leases.listLeases(10))[0]?.pending === true);
    expect(await faulty.database.leases.listLeases(10)).toMatchObject([{ taskId: id }]);
  });
});

describe('a call that waits at a replica that closes', () => {
  const closed = { metadata: { reason: 'REPLICA_DRAINING' } };

  /** A turn at a replica that hears of nothing; the other one is the one that closes. */
  async function deafHolder() {
    const database = createMemoryDatabase();
    const agent = stuck((context, bus) => bus.publish(taskEvent(context)));
    const parts = { database, executor: agent, lease: { ttlMs: 60_000, heartbeatMs: 20_000 } };
    const [a, b] = [await start(parts), await start(parts)];
    const { id } = await send(a, request('go', { immediately: true }));
    await a.stream.close();
    return { a, b, id, database };
  }

  test('is answered: a cancel that gives the holder its grace', async () => {
    const { b, id, database } = await deafHolder();
    const answer = expect(cancel(b, id)).rejects.toMatchObject(closed);
    await until(async () => (await database.journal.look({ taskId: id }))?.lease?.cancelAgeMs != null);
    await b.handler.closeTurns({ ...soon, writeTimeoutMs: 50 });
    await answer;
  });

  test('is answered: a cancel whose database is silent', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const a = await start({ database: faulty.database, executor: stuck(() => {}) });
    faulty.always((statement) => (statement === 'look' ? 'frozen' : undefined));
    const answer = expect(cancel(a, 'any')).rejects.toMatchObject(closed);
    await until(() => faulty.calls('look') === 1);
    await a.handler.closeTurns({ ...soon, writeTimeoutMs: 50 });
    await answer;
    faulty.thaw();
  });

  test('opens no turn any more: a follow-up that waits for the release of a parked task', async () => {
    const faulty = createFaultyDatabase(createMemoryDatabase());
    const letGo = gate();
    const agent = executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
      await letGo.passed;
    });
    const parts = {
      database: faulty.database,
      executor: agent,
      lease: { ttlMs: 60_000, heartbeatMs: 20_000 },
    };
    const [a, b] = [await start(parts), await start(parts)];
    const { id } = await send(a, request('go'));
    const answer = expect(send(b, request('this', { taskId: id }))).rejects.toMatchObject(closed);
    await until(() => faulty.calls('openTurn') === 1);
    await b.handler.closeTurns({ ...soon, writeTimeoutMs: 50 });
    await answer;
    letGo.open();
    await until(async () => (await faulty.database.leases.listLeases(10)).length === 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(faulty.calls('openTurn')).toBe(1);
    expect(await logOf(faulty.database, id)).toEqual(['task/1', 'statusUpdate/1']);
  });

  test('is waited for while it can be answered', async () => {
    const database = createMemoryDatabase();
    const agent = executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      await new Promise((resolve) => turnOf(context).signal.addEventListener('abort', resolve));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_CANCELED));
    });
    const [a, b] = [await start({ database, executor: agent }), await start({ database, executor: agent })];
    const { id } = await send(a, request('go', { immediately: true }));
    const answer = cancel(b, id);
    await b.handler.closeTurns(soon);
    expect(stateOf(await answer)).toBe('CANCELED');
  });

  test('is refused when it comes after the close', async () => {
    const a = await start({ executor: stuck(() => {}) });
    await a.handler.closeTurns(soon);
    await expect(cancel(a, 'any')).rejects.toMatchObject(closed);
  });
});
