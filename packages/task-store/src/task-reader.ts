import { isStorableKey, type EventRow, type Scope, type StateName } from '@a2a-cluster/core';
import type { Database, StoredTask, TaskListQuery, TaskRow } from '@a2a-cluster/db';
import type { Task } from '@a2a-js/sdk';
import { corruptTask, decodeSnapshot, foldRows } from './fold-rows.js';

/** A task as one statement saw it. */
export interface TaskSnapshot {
  readonly task: Task;
  /** The seq of the last event that `task` holds: a tail goes on after it. */
  readonly version: number;
  readonly scope: Scope;
  /** As the task row says. */
  readonly state: StateName;
  /** Who ran the task, or null. Ages and rests are by the database's clock. */
  readonly lease: StoredTask['lease'];
}

/** One place in a list of tasks. */
export interface ListedTask {
  readonly row: TaskRow;
  /** The task; an error (`ROW_CORRUPT`) where it cannot be read; null where it has gone since the row was read. */
  readonly found: TaskSnapshot | Error | null;
}

/** A page of tasks and the count of all that match. */
export interface TaskList {
  /** In the order of `TaskListPage.rows`. */
  readonly tasks: readonly ListedTask[];
  readonly total: number;
}

/** Reads tasks from snapshot and log (protocol 3.9). Takes no lock and changes nothing. */
export interface TaskReader {
  /**
   * The task now: snapshot and events in one statement. Null: no such task (of that scope, if one is named), which
   * is also the answer for an id that cannot be stored, without asking the database.
   * @throws ClusterError `ROW_CORRUPT` with the task id.
   */
  read(read: { readonly taskId: string; readonly scope?: Scope }): Promise<TaskSnapshot | null>;
  /**
   * The task of what a statement read. A new object at every call.
   * @throws ClusterError `ROW_CORRUPT` with the task id.
   */
  fold(stored: StoredTask): Task;
  /**
   * The task as it was after the event `seq` (as it is, if the log ends before). Null: no such task, or the events
   * needed are no longer in the log.
   * @throws ClusterError `ROW_CORRUPT` with the task id.
   */
  readTaskAt(at: {
    readonly taskId: string;
    readonly scope?: Scope;
    readonly seq: number;
  }): Promise<Task | null>;
  /** A page of tasks with their documents, in two statements. A task that cannot be read does not spoil the others. */
  list(query: TaskListQuery): Promise<TaskList>;
}

/** What {@link createTaskReader} needs. */
export interface TaskReaderOptions {
  readonly database: Pick<Database, 'log' | 'tasks'>;
}

/** Events per statement where a log is read from its beginning. */
const PAGE = 500;

/** A reader over a database; holds no state. */
export function createTaskReader({ database }: TaskReaderOptions): TaskReader {
  return {
    fold,
    read: async (read) => {
      const stored = await readStored(database, read);
      return stored && toSnapshot(stored);
    },
    readTaskAt: async ({ seq, ...read }) => {
      const stored = await readStored(database, read);
      if (stored === null || seq < 1) return null;
      if (seq >= stored.version) return fold(stored);
      if (seq >= stored.snapshotVersion) return fold(upTo(stored, seq));
      return foldFromStart(database, { taskId: read.taskId, seq });
    },
    list: (query) => list(database, query),
  };
}

async function readStored(
  database: TaskReaderOptions['database'],
  read: { readonly taskId: string; readonly scope?: Scope },
): Promise<StoredTask | null> {
  return isStorableKey(read.taskId) ? database.log.readTask(read) : null;
}

function fold(stored: StoredTask): Task {
  const { taskId, snapshot, snapshotVersion, version, events } = stored;
  const start = snapshot === null ? undefined : decodeSnapshot({ taskId, payload: snapshot });
  const after = snapshot === null ? 0 : snapshotVersion;
  if (!isGapless(events, after) || after + events.length !== version)
    throw corruptTask({ taskId, what: `its log has not every event from ${after + 1} to ${version}` });
  const task = foldRows({ task: start, rows: events });
  if (task === undefined) throw corruptTask({ taskId, what: 'its log does not begin with a task' });
  return task;
}

function toSnapshot(stored: StoredTask): TaskSnapshot {
  const { version, scope, state, lease } = stored;
  return { task: fold(stored), version, scope, state, lease };
}

function upTo(stored: StoredTask, seq: number): StoredTask {
  return { ...stored, version: seq, events: stored.events.filter((row) => row.seq <= seq) };
}

async function foldFromStart(
  database: TaskReaderOptions['database'],
  { taskId, seq }: { readonly taskId: string; readonly seq: number },
): Promise<Task | null> {
  let task: Task | undefined;
  for (let after = 0; after < seq;) {
    const rows = await database.log.readEvents({ taskId, after, limit: Math.min(PAGE, seq - after) });
    if (rows.length === 0 || !isGapless(rows, after)) return null;
    task = foldRows({ task, rows });
    after += rows.length;
  }
  return task ?? null;
}

function isGapless(rows: readonly EventRow[], after: number): boolean {
  return rows.every((row, index) => row.seq === after + 1 + index);
}

async function list(database: TaskReaderOptions['database'], query: TaskListQuery): Promise<TaskList> {
  const { rows, total } = await database.tasks.list(query);
  if (rows.length === 0) return { tasks: [], total };
  const stored = await database.tasks.readTasks(rows.map((row) => row.taskId));
  const byId = new Map(stored.map((task) => [task.taskId, task]));
  return { total, tasks: rows.map((row) => ({ row, found: tryRead(byId.get(row.taskId)) })) };
}

function tryRead(stored: StoredTask | undefined): ListedTask['found'] {
  try {
    return stored ? toSnapshot(stored) : null;
  } catch (error) {
    return error instanceof Error
      ? error
      : corruptTask({ taskId: stored?.taskId ?? '', what: String(error) });
  }
}
