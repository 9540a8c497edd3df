import { expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createTally } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { executor, newCluster, request, send, until } from './support.js';

const done = executor(async (context, bus) => {
  bus.publish(taskEvent(context));
  bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
});

test('a cluster prunes ended tasks, counts them, and stops when it is closed', async () => {
  const database = createMemoryDatabase();
  const telemetry = createTally();
  const retention = { eventsMs: 20, tasksMs: 40 };
  const cluster = await newCluster({ database, executor: done, retention, telemetry });
  await cluster.start();
  const { id } = await send(cluster, request('go'));
  await until(() => telemetry.total('pruned_total', { what: 'tasks' }) === 1);
  expect(telemetry.total('pruned_total', { what: 'events' })).toBe(2);
  expect(await database.log.readTask({ taskId: id })).toBeNull();
  await cluster.close();
});

test('a cluster keeps everything where it is told to', async () => {
  const database = createMemoryDatabase();
  let looks = 0;
  const find: typeof database.retention.find = (step) => ((looks += 1), database.retention.find(step));
  const kept = { ...database, retention: { ...database.retention, find } };
  const cluster = await newCluster({ database: kept, executor: done, retention: false });
  await cluster.start();
  const { id } = await send(cluster, request('go'));
  await cluster.close();
  expect(looks).toBe(0);
  expect(await database.log.readEvents({ taskId: id, after: 0, limit: 9 })).toHaveLength(2);
});
