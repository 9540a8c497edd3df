import {
  createTally,
  createSystemClock,
  ClusterError,
  type Clock,
  type Logger,
  type Tally,
} from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import { createTaskReader } from '@a2a-cluster/task-store';
import {
  createRetention,
  resolveRetentionOptions,
  type Retention,
  type RetentionOptions,
} from '../src/index.js';

export interface Harness {
  readonly retention: Retention;
  readonly tally: Tally;
  readonly logged: { readonly level: string; readonly message: string; readonly fields: object }[];
}

export interface HarnessOptions {
  readonly database: Pick<Database, 'retention' | 'log' | 'tasks'>;
  readonly clock?: Clock;
  readonly retention?: RetentionOptions;
  readonly mayRun?: () => boolean;
  readonly random?: () => number;
}

/** A retention without a pause between its steps, and what it says. */
export function createHarness(options: HarnessOptions): Harness {
  const { database, clock = createSystemClock(), mayRun, random } = options;
  const tally = createTally();
  const logged: Harness['logged'] = [];
  const retention = createRetention({
    database,
    reader: createTaskReader({ database }),
    options: resolveRetentionOptions({ eventsMs: 1, pauseMs: 0, ...options.retention }, { embedded: false }),
    ...{ clock, logger: recordingLogger(logged), telemetry: tally, mayRun, random },
  });
  return { retention, tally, logged };
}

/** A task in the form of the codec that has said so much and ended; its log begins with the task. */
export async function createEndedTask(
  database: Pick<Database, 'journal'>,
  task: {
    readonly taskId: string;
    readonly chunks?: number;
    readonly snapshot?: boolean;
    readonly poison?: boolean;
  },
): Promise<void> {
  const { taskId, chunks = 1 } = task;
  const scope = { tenant: '', owner: 'alice' };
  const contextId = `context of ${taskId}`;
  const status = { state: 'TASK_STATE_WORKING' };
  const document = { id: taskId, contextId, status, artifacts: [], history: [] };
  const write = (what: string, json: object) => ({
    payload: JSON.stringify(json),
    writeId: `${taskId} ${what}`,
  });
  const created = await database.journal.createTask({
    ...{ taskId, scope, contextId, holder: 'replica-a', ttlMs: 60_000, state: 'TASK_STATE_WORKING' },
    ...{ statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
    events: [{ kind: 'task', ...write('task', { task: document }) }],
  });
  const said = Array.from({ length: chunks }, (_, at) => ({
    kind: 'artifactUpdate' as const,
    ...write(`chunk ${at}`, {
      artifactUpdate: {
        ...{ taskId, contextId, append: at > 0 },
        artifact: { artifactId: 'output', parts: [{ text: `${at};` }] },
      },
    }),
  }));
  const end = { statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_COMPLETED' } } };
  const last = { kind: 'statusUpdate' as const, ...write('end', task.poison ? { nothing: true } : end) };
  const committed = await database.journal.commit({
    ...{ taskId, expectedVersion: 1, holder: 'replica-a', epoch: 1, events: [...said, last] },
    ...{ state: 'TASK_STATE_COMPLETED', statusTimestamp: null, terminal: true, clearsPending: true },
    snapshot: task.snapshot
      ? JSON.stringify({ ...document, status: { state: 'TASK_STATE_COMPLETED' } })
      : null,
  });
  if (!created.ok || !committed.ok) throw new Error(`task ${taskId} was not stored`);
}

/** How many events a task has. */
export async function eventsOf(database: Pick<Database, 'log'>, taskId: string): Promise<number> {
  return (await database.log.readEvents({ taskId, after: 0, limit: 100_000 })).length;
}

/** A database of which some calls fail for tasks that are named. */
export function breaking(database: Database, broken: ReadonlySet<string>): Database {
  const check = (tasks: readonly string[]): void => {
    const bad = tasks.find((taskId) => broken.has(taskId));
    if (bad !== undefined) throw new ClusterError('STORE_FAULT', `the row of ${bad} cannot be written`);
  };
  const { retention } = database;
  return {
    ...database,
    retention: {
      ...retention,
      compact: async (compaction) => {
        check(compaction.tasks.map(({ taskId }) => taskId));
        return retention.compact(compaction);
      },
      purge: async (purge) => {
        check(purge.taskIds);
        return retention.purge(purge);
      },
    },
  };
}

function recordingLogger(logged: Harness['logged']): Logger {
  const method =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push({ level, message, fields });
  return { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') };
}
