import { randomUUID } from 'node:crypto';
import { Task, TaskState } from '@a2a-js/sdk';
import { encodeEvent, stateName, type Scope } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import { newTask } from './events.js';

/** Whose the seeded tasks are: the caller without authentication. */
export const nobody: Scope = { tenant: '', owner: 'unknown' };

/** The name of a replica that is no more. */
export const DEAD = 'dead-replica';

/** Stores a task in a state, held by {@link DEAD} for `ttlMs` where the state allows a lease. Gives its id. */
export async function seedTask(
  database: Database,
  seed: { readonly state: TaskState; readonly ttlMs: number; readonly scope?: Scope },
): Promise<string> {
  const taskId = randomUUID();
  const contextId = randomUUID();
  const task = newTask(taskId, contextId, TaskState.TASK_STATE_SUBMITTED);
  const first = await database.journal.createTask({
    taskId,
    contextId,
    scope: seed.scope ?? nobody,
    holder: DEAD,
    ttlMs: seed.ttlMs,
    state: stateName(TaskState.TASK_STATE_SUBMITTED),
    statusTimestamp: null,
    terminal: false,
    clearsPending: true,
    snapshot: null,
    events: [{ kind: 'task', payload: encodeEvent({ kind: 'task', data: task }), writeId: randomUUID() }],
  });
  if (!first.ok) throw new Error('the seed was refused');
  if (seed.state === TaskState.TASK_STATE_SUBMITTED) return taskId;
  const data = {
    taskId,
    contextId,
    status: { state: seed.state, message: undefined, timestamp: undefined },
    metadata: undefined,
  };
  const second = await database.journal.commit({
    taskId,
    expectedVersion: 1,
    holder: DEAD,
    epoch: 1,
    state: stateName(seed.state),
    statusTimestamp: null,
    terminal: false,
    clearsPending: true,
    snapshot: JSON.stringify(Task.toJSON({ ...task, status: data.status })),
    events: [
      { kind: 'statusUpdate', payload: encodeEvent({ kind: 'statusUpdate', data }), writeId: randomUUID() },
    ],
  });
  if (!second.ok) throw new Error('the seed was refused');
  return taskId;
}
