import { randomUUID } from 'node:crypto';
import {
  encodeEvent,
  project,
  stateName,
  type NewEvent,
  type Scope,
  type TaskEvent,
} from '@a2a-cluster/core';
import { createDatabase, createMemoryDatabase, type Database, type TaskMove } from '@a2a-cluster/db';
import { createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { Task, TaskState, type TaskStatus } from '@a2a-js/sdk';

/** A database of one test file. */
export interface OpenDatabase {
  readonly database: Database;
  /** Runs SQL behind its back; rejects where there is none. */
  sql(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens an empty database of a provider. */
export async function openDatabase(
  provider: 'memory' | 'sqlite' | 'postgresql' | 'mysql',
): Promise<OpenDatabase> {
  if (provider === 'memory') return { database: createMemoryDatabase(), sql: noSql, close: async () => {} };
  const made = await createTestDatabase({ provider });
  const database = await createDatabase({ url: made.url, ttlMs: 60_000, poolSize: 2 });
  return {
    database,
    sql: async (text) => {
      const raw = await openRaw(made.url);
      await raw.run(text).finally(() => raw.close());
    },
    close: async () => {
      await database.close();
      await made.drop();
    },
  };
}

const noSql = (): Promise<void> => Promise.reject(new Error('there is no SQL in memory'));

/** A status of a state. */
export function status(state: TaskState, timestamp?: string): TaskStatus {
  return { state, message: undefined, timestamp };
}

/** A task without content. */
export function emptyTask(id: string, more: Partial<Task> = {}): Task {
  return {
    id,
    contextId: `context-of-${id}`,
    status: status(TaskState.TASK_STATE_SUBMITTED),
    artifacts: [],
    history: [],
    metadata: undefined,
    ...more,
  };
}

/** An appended chunk of text. */
export function chunk(taskId: string, text: string): TaskEvent {
  return {
    kind: 'artifactUpdate',
    data: {
      taskId,
      contextId: '',
      artifact: {
        artifactId: 'output',
        name: '',
        description: '',
        parts: [
          { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' },
        ],
        metadata: undefined,
        extensions: [],
      },
      append: true,
      lastChunk: false,
      metadata: undefined,
    },
  };
}

/** A new state. */
export function update(taskId: string, next: TaskStatus): TaskEvent {
  return { kind: 'statusUpdate', data: { taskId, contextId: '', status: next, metadata: undefined } };
}

/** A task to store: its events, and the seqs after which a snapshot is written. */
export interface Seed {
  readonly scope: Scope;
  readonly first: Task;
  readonly more?: readonly TaskEvent[];
  readonly snapshotsAt?: readonly number[];
}

/** Stores a task event by event, as its holder would; gives what the projection says after each. */
export async function seed(
  database: Database,
  { scope, first, more = [], snapshotsAt = [] }: Seed,
): Promise<Task[]> {
  const holder = 'replica-a';
  const steps: Task[] = [];
  const move = (event: TaskEvent): TaskMove & { events: NewEvent[] } => {
    const task = project(steps.at(-1), event);
    if (!task) throw new Error('no task to store');
    steps.push(task);
    return {
      state: stateName(task.status?.state),
      statusTimestamp: task.status?.timestamp ?? null,
      terminal: false,
      clearsPending: true,
      snapshot: snapshotsAt.includes(steps.length) ? JSON.stringify(Task.toJSON(task)) : null,
      events: [{ kind: event.kind, payload: encodeEvent(event), writeId: randomUUID() }],
    };
  };
  const create = move({ kind: 'task', data: first });
  const state = create.state ?? '';
  await database.journal.createTask({
    ...create,
    ...{ taskId: first.id, scope, contextId: first.contextId, holder, ttlMs: 600_000, state },
  });
  for (const event of more) {
    const expectedVersion = steps.length;
    const written = await database.journal.commit({
      ...move(event),
      ...{ taskId: first.id, expectedVersion, holder, epoch: 1 },
    });
    if (!written.ok) throw new Error(`event ${expectedVersion + 1} was refused`);
  }
  return steps;
}
