import { afterEach, describe, expect, test } from '@jest/globals';
import { Task, TaskState } from '@a2a-js/sdk';
import type { LogHead } from '@a2a-cluster/db';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { turnOf, type Cluster, type ClusterOptions } from '../src/index.js';
import { contextOf, executor, gate, newCluster, request, send, until, watchedDatabase } from './support.js';

const clusters: Cluster[] = [];

async function start(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const cluster = await newCluster(options);
  clusters.push(cluster);
  await cluster.start();
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close({ drainTimeoutMs: 1 });
});

/** Completes where the message says so, else waits for the client. */
const agent = executor(async (context, bus) => {
  bus.publish(taskEvent(context));
  const ends = context.userMessage.messageId.startsWith('ends');
  const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
  bus.publish(statusEvent(context, ends ? TASK_STATE_COMPLETED : TASK_STATE_INPUT_REQUIRED));
});

describe("an operator's tasks", () => {
  test('come in pages that say where the next one begins', async () => {
    const { operator, requestHandler } = await start({ executor: agent });
    const made: string[] = [];
    for (const owner of ['alice', 'bob', 'alice'])
      made.push(((await requestHandler.sendMessage(request('go'), contextOf(owner))) as Task).id);
    const first = await operator.tasks.find({ limit: 2 });
    expect(first.tasks).toHaveLength(2);
    const { tasks, next } = await operator.tasks.find({ limit: 2, cursor: first.next! });
    expect(next).toBeNull();
    expect([...first.tasks, ...tasks].map(({ taskId }) => taskId).sort()).toEqual([...made].sort());
    const exact = await operator.tasks.find({ limit: 3 });
    expect([exact.tasks.length, exact.next]).toEqual([3, null]);
    const bobs = await operator.tasks.find({ owner: 'bob' });
    expect(bobs.tasks.map(({ taskId }) => taskId)).toEqual([made[1]]);
  });

  test('are at most 200 to a page, and at least one', async () => {
    const watched = watchedDatabase();
    const limits: number[] = [];
    const { findTasks } = watched.database.operators;
    const operators = {
      ...watched.database.operators,
      findTasks: (find: Parameters<typeof findTasks>[0]) => (limits.push(find.limit), findTasks(find)),
    };
    const { operator } = await start({ database: { ...watched.database, operators } });
    for (const limit of [undefined, 10, 1_000, 0, -5, 2.9, Number.NaN])
      await operator.tasks.find(limit === undefined ? {} : { limit });
    expect(limits).toEqual([51, 11, 201, 2, 2, 3, 201]);
  });

  test('are read one by one: the row, the document, the events, and how many there are', async () => {
    const { operator, ...cluster } = await start({ executor: agent });
    const task = (await cluster.requestHandler?.sendMessage(request('go'), contextOf())) as Task;
    const { id } = task;
    expect(await operator.tasks.get(id)).toMatchObject({
      ...{ taskId: id, owner: 'alice', state: 'TASK_STATE_INPUT_REQUIRED', version: 2, lease: null },
    });
    expect(Task.fromJSON(await operator.tasks.document(id))).toEqual(task);
    const events = await operator.tasks.events({ taskId: id });
    expect(events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'task'],
      [2, 'statusUpdate'],
    ]);
    expect(await operator.tasks.events({ taskId: id, after: 1, limit: 5 })).toEqual(events.slice(1));
    expect(await operator.tasks.counts()).toEqual({
      live: { TASK_STATE_INPUT_REQUIRED: 1 },
      leaseless: 0,
    });
    for (const odd of ['nobody', 'a\u0000b', '']) {
      expect(await operator.tasks.get(odd)).toBeNull();
      expect(await operator.tasks.document(odd)).toBeNull();
      expect(await operator.tasks.events({ taskId: odd })).toEqual([]);
    }
  });
});

describe('a cancel by an operator', () => {
  test('ends a task of any owner, and says what became of those it cannot end', async () => {
    const cluster = await start({ executor: agent });
    const parked = await send(cluster, request('go'));
    const ended = await send(cluster, request('go', { messageId: 'ends-1' }));
    const { tasks } = cluster.operator;
    expect(await tasks.cancel(parked.id)).toBe('canceled');
    expect(await tasks.cancel(parked.id)).toBe('canceled');
    expect(await tasks.cancel(ended.id)).toBe('ended');
    expect(await tasks.cancel('nobody')).toBe('not_found');
    expect(await tasks.cancel('a\u0000b')).toBe('not_found');
    expect((await tasks.get(parked.id))?.state).toBe('TASK_STATE_CANCELED');
    expect((await tasks.get(ended.id))?.state).toBe('TASK_STATE_COMPLETED');
  });

  test('tells the turn that runs, which ends the task itself', async () => {
    const cluster = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        const { signal } = turnOf(context);
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    });
    const { id } = await send(cluster, request('go', { immediately: true }));
    expect(await cluster.operator.tasks.cancel(id)).toBe('canceled');
    const last = (await cluster.operator.tasks.events({ taskId: id })).at(-1);
    expect(last?.holder).toBe(cluster.status().replicaId);
    expect(await cluster.operator.tasks.get(id)).toMatchObject({ state: 'TASK_STATE_CANCELED', lease: null });
  });
});

describe('a watch of tasks', () => {
  test('hears of every change of any of them, of one that is gone, and of nothing after its end', async () => {
    const go = gate();
    const cluster = await start({
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        await go.passed;
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      }),
    });
    const ids = [
      (await send(cluster, request('go', { immediately: true }))).id,
      (await send(cluster, request('go', { immediately: true }))).id,
    ];
    const heard: (readonly [string, LogHead | null])[] = [];
    const onHead = (taskId: string, head: LogHead | null): void => void heard.push([taskId, head]);
    const end = cluster.operator.tasks.watch({ taskIds: [...ids, ids[0]!, 'a\u0000b'], onHead });
    await until(() => ids.every((id) => heard.some(([taskId]) => taskId === id)));
    go.open();
    const ended = (id: string) =>
      heard.some(([taskId, head]) => taskId === id && head?.state.endsWith('COMPLETED'));
    await until(() => ids.every(ended));
    end();
    end();
    const { length } = heard;
    await send(cluster, request('go', { messageId: 'more' }));
    expect(heard).toHaveLength(length);
    expect(cluster.status().stream.watchedTasks).toBe(0);
  });

  test('costs no statement of its own, however many there are', async () => {
    const watched = watchedDatabase();
    const cluster = await start({ database: watched.database, executor: agent, pollIntervalMs: 50 });
    const { id } = await send(cluster, request('go'));
    const ends = Array.from({ length: 100 }, () =>
      cluster.operator.tasks.watch({ taskIds: [id], onHead: () => {} }),
    );
    await until(() => watched.calls.includes('readHeads'));
    watched.calls.length = 0;
    await until(() => watched.calls.filter((name) => name === 'readHeads').length === 5);
    const others = watched.calls.filter(
      (name) => !['readHeads', 'report', 'nextExpiry', 'readClock'].includes(name),
    );
    expect(others.filter((name) => name !== 'sweep' && name !== 'sweepOrphans')).toEqual([]);
    for (const end of ends) end();
  });
});
