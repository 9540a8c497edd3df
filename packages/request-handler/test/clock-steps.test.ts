import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { createClockWatch, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { turnOf } from '../src/index.js';
import {
  cancel,
  executor,
  gate,
  logOf,
  replicasOfTest,
  request,
  send,
  stateOf,
  until,
  type TestReplica,
} from './support.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_CANCELED } =
  TaskState;
const start = replicasOfTest();

/** No beat comes to the rescue during a test. */
const lease = { ttlMs: 60_000, heartbeatMs: 20_000, cancelGraceMs: 5_000 };

/** Two replicas on a database whose clock can step; both sweepers have looked at it before. */
async function scene(state: TaskState, options: { deaf?: boolean; cancelGraceMs?: number } = {}) {
  const { deaf = false, cancelGraceMs = lease.cancelGraceMs } = options;
  const system = createSystemClock();
  const server = { offsetMs: 0, readable: true };
  const database = createMemoryDatabase({
    clock: { ...system, monotonicMs: () => system.monotonicMs() + server.offsetMs },
  });
  const go = gate();
  const agent = executor(async (context, bus) => {
    bus.publish(taskEvent(context));
    bus.publish(statusEvent(context, state));
    const stopped = new Promise<'stopped'>((resolve) =>
      turnOf(context).signal.addEventListener('abort', () => resolve('stopped')),
    );
    const why = await (deaf ? go.passed : Promise.race([go.passed, stopped]));
    bus.publish(statusEvent(context, TASK_STATE_WORKING, 'last words'));
    bus.publish(statusEvent(context, why === 'stopped' ? TASK_STATE_CANCELED : TASK_STATE_COMPLETED));
  });
  const replica = async (): Promise<TestReplica> => {
    const leases = {
      ...database.leases,
      readClock: () => (server.readable ? database.leases.readClock() : Promise.reject(new Error('refused'))),
    };
    const watch = createClockWatch({
      ...{ leases, options: resolveLeaseOptions(lease) },
      ...{ clock: system, logger: createSilentLogger() },
    });
    await watch.observe();
    return start({
      database,
      lease: { ...lease, cancelGraceMs },
      executor: agent,
      quiet: () => watch.freshlyQuiet(),
    });
  };
  const [a, b] = [await replica(), await replica()];
  const { id } = await send(a, request('go', { immediately: true }));
  await until(async () => (await logOf(database, id)).length === 2);
  return { a, b, database, go, id, server };
}

const busy = { metadata: { reason: 'TASK_BUSY' } };

describe("after a step of the database's clock that no sweeper has seen", () => {
  test.each([TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED])(
    'a follow-up leaves a live turn in state %d alone',
    async (state) => {
      const { a, b, database, go, id, server } = await scene(state);
      server.offsetMs = 3_600_000;
      await expect(send(b, request('this', { taskId: id }))).rejects.toMatchObject(busy);
      await expect(send(a, request('this', { taskId: id }))).rejects.toMatchObject(busy);
      expect((await database.journal.look({ taskId: id }))?.lease).toMatchObject({
        holder: a.holder,
        epoch: 1,
      });
      await a.heartbeat.runOnce();
      go.open();
      await until(async () => (await logOf(database, id)).length === 4);
      expect(await database.journal.look({ taskId: id })).toMatchObject({ state: 'TASK_STATE_COMPLETED' });
    },
  );

  test('a cancel tells the holder of a live turn and leaves it the grace', async () => {
    const { b, database, id, server } = await scene(TASK_STATE_WORKING);
    server.offsetMs = 3_600_000;
    expect(stateOf(await cancel(b, id))).toBe('CANCELED');
    // The agent's own, not the canceller's.
    expect(await logOf(database, id)).toEqual(['task/1', ...new Array<string>(3).fill('statusUpdate/1')]);
  });

  test.each(['holder', 'canceller'])('a step back does not prolong the grace at the %s', async (at) => {
    const { a, b, database, id, server } = await scene(TASK_STATE_WORKING, {
      deaf: true,
      cancelGraceMs: 100,
    });
    await database.leases.markCancel({ taskId: id, epoch: 1 });
    server.offsetMs = -3_600_000;
    // Either writes by itself when the grace is over; the other one hears of nothing.
    if (at === 'canceller') await a.stream.close();
    const answer = cancel(at === 'canceller' ? b : a, id);
    expect(stateOf(await answer)).toBe('CANCELED');
    expect(await logOf(database, id)).toEqual(['task/1', 'statusUpdate/1', 'statusUpdate/1']);
  });
});

describe('where the clock has not stepped', () => {
  test.each([
    [TASK_STATE_WORKING, 'terminal state'],
    [TASK_STATE_INPUT_REQUIRED, null],
  ])('a follow-up claims the expired lease of a task in state %d', async (state, refusal) => {
    const { b, database, id } = await scene(state);
    await database.leases.expireNow(id);
    const answer = send(b, request('this', { taskId: id, immediately: true }));
    if (refusal !== null) await expect(answer).rejects.toThrow(refusal);
    else expect(await answer).toMatchObject({ id });
  });

  test('a cancel does not wait for the holder of an expired lease', async () => {
    const { b, database, id } = await scene(TASK_STATE_WORKING);
    await database.leases.expireNow(id);
    expect(stateOf(await cancel(b, id))).toBe('CANCELED');
    expect(await logOf(database, id)).toEqual(['task/1', 'statusUpdate/1', 'statusUpdate/1']);
  });

  test('nothing is claimed while the clock cannot be read', async () => {
    const { b, database, id, server } = await scene(TASK_STATE_WORKING);
    await database.leases.expireNow(id);
    server.readable = false;
    await expect(send(b, request('this', { taskId: id }))).rejects.toMatchObject(busy);
    server.readable = true;
    await expect(send(b, request('this', { taskId: id }))).rejects.toThrow('terminal state');
  });
});
