import { randomUUID } from 'node:crypto';
import { Task, TaskPushNotificationConfig } from '@a2a-js/sdk';
import { encodeEvent } from '@a2a-cluster/core';
import { nowMs } from '../../world/now.js';
import type { World } from '../../world/world.js';

/** What {@link seedAbandoned} stores. */
export interface Abandoned {
  readonly tasks: number;
  /** How long after the last lease was stored all of them expire, in the same millisecond. */
  readonly expireInMs: number;
  /** Whether each has a webhook. */
  readonly push: boolean;
}

/** What it stored. */
export interface Seeded {
  readonly taskIds: readonly string[];
  /** The webhook of each task, in the same order. */
  readonly hooks: readonly string[];
  /** When all leases expire, by the harness's clock. */
  readonly expireAtMs: number;
}

/** The replica whose tasks they are. */
export const HOLDER = 'dead-0';
const OWNER = 'alice';
const ROWS_PER_INSERT = 500;

/**
 * Stores tasks of a replica that is dead, past all code of the cluster: running thousands of turns first would take
 * longer than the scenario itself.
 */
export async function seedAbandoned(world: World, { tasks, expireInMs, push }: Abandoned): Promise<Seeded> {
  const taskIds = Array.from({ length: tasks }, () => randomUUID());
  const hooks = push ? taskIds.map((taskId) => `hook-${taskId}`) : [];
  await insert(world, {
    into: 'tasks (id, tenant, owner, context_id, state, version)',
    taskIds,
    row: taskRow,
  });
  await insert(world, {
    into: 'task_events (task_id, seq, kind, payload, write_id, holder, epoch)',
    taskIds,
    row: eventRow,
  });
  if (push)
    await insert(world, {
      into: `push_notification_configs (task_id, config_id, tenant, owner, url, payload, wire_version, origin, position)`,
      taskIds,
      row: (taskId) => configRow(taskId, world.sink.url(`hook-${taskId}`)),
    });
  return { taskIds, hooks, expireAtMs: await insertLeases(world, { taskIds, expireInMs }) };
}

/** How many of their leases are still there. */
export function abandonedLeases({ database }: World): Promise<number> {
  return database.number(`SELECT COUNT(*) FROM task_leases WHERE holder = '${HOLDER}'`);
}

async function insertLeases(
  world: World,
  { taskIds, expireInMs }: { readonly taskIds: readonly string[]; readonly expireInMs: number },
): Promise<number> {
  recordDeath(world);
  const acquiredAtMs = (await world.database.aheadMs()) + nowMs();
  const moments = [acquiredAtMs, acquiredAtMs + expireInMs].map((ms) => moment(world, ms)).join();
  await insert(world, {
    into: 'task_leases (task_id, tenant, owner, holder, epoch, pending, acquired_at, expires_at)',
    taskIds,
    row: (taskId) => `('${taskId}','','${OWNER}','${HOLDER}',1,false,${moments})`,
  });
  return acquiredAtMs + expireInMs - (await world.database.aheadMs());
}

/** The holder, as if it had been started and killed. */
function recordDeath({ recorder }: World): void {
  if (recorder.replicas.some(({ holder }) => holder === HOLDER)) return;
  const atMs = nowMs();
  recorder.replicas.push({
    ...{ name: 'dead', holder: HOLDER, startedAtMs: recorder.beganAtMs },
    ...{ exitedAtMs: atMs, exit: 'SIGKILL', strayLines: [] },
  });
  recorder.fault({ kind: 'kill', replica: 'dead', detail: 'its tasks are seeded' });
}

async function insert(
  world: World,
  {
    into,
    taskIds,
    row,
  }: { readonly into: string; readonly taskIds: readonly string[]; row(taskId: string): string },
): Promise<void> {
  for (let from = 0; from < taskIds.length; from += ROWS_PER_INSERT) {
    const rows = taskIds.slice(from, from + ROWS_PER_INSERT).map(row);
    await world.database.query(`INSERT INTO ${into} VALUES ${rows.join()}`);
  }
}

function taskRow(taskId: string): string {
  return `('${taskId}','','${OWNER}','context-${taskId}','TASK_STATE_WORKING',1)`;
}

function eventRow(taskId: string): string {
  const data = Task.fromJSON({
    id: taskId,
    contextId: `context-${taskId}`,
    status: { state: 'TASK_STATE_WORKING' },
  });
  const payload = encodeEvent({ kind: 'task', data });
  return `('${taskId}',1,'task','${payload}','seed:${taskId}','${HOLDER}',1)`;
}

function configRow(taskId: string, url: string): string {
  const config = TaskPushNotificationConfig.fromJSON({ id: 'webhook', taskId, url });
  const payload = JSON.stringify(TaskPushNotificationConfig.toJSON(config));
  // Registered when the task had its one event.
  return `('${taskId}','webhook','','${OWNER}','${url}','${payload}','1.0','${new URL(url).origin}',1)`;
}

/** A moment of the database's clock, as its column takes it. */
function moment({ provider }: World, ms: number): string {
  if (provider === 'sqlite') return String(Math.floor(ms));
  const text = new Date(ms).toISOString().slice(0, -1).replace('T', ' ');
  return provider === 'postgresql' ? `'${text}+00'` : `'${text}'`;
}
