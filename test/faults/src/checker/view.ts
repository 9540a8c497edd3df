import type {
  CallRecord,
  DeadLetterRow,
  EventRow,
  FaultRecord,
  History,
  LeaseRow,
  LogRecord,
  PushConfigRow,
  PushRecord,
  ReplicaRecord,
  TaskRow,
} from '../history/history.js';
import { createFold, type Fold } from './fold.js';
import { readRow, type ReadRow } from './read-row.js';
import { withoutReset, type StreamView } from './reset-frame.js';

/** A history, indexed once for all the rules. */
export interface HistoryView {
  readonly history: History;
  readonly tasks: ReadonlyMap<string, TaskView>;
  readonly replicas: ReadonlyMap<string, ReplicaRecord>;
  /** The boot that is called so in the tables. */
  readonly byHolder: ReadonlyMap<string, ReplicaRecord>;
  /** The tasks whose rows a `rows_locked` fault names; none: it may be any. */
  readonly lockedTasks: ReadonlyMap<FaultRecord, readonly string[]>;
  /** A moment of the harness as the texts of violations name it. */
  at(ms: number): string;
}

/** Everything that is about one task. */
export interface TaskView extends Fold {
  readonly taskId: string;
  readonly row: TaskRow | null;
  readonly events: readonly EventRow[];
  /** The rows that could be read, in order. */
  readonly read: readonly ReadRow[];
  /** Its rows were made unreadable on purpose: nothing is said of what is in them. */
  readonly poisoned: boolean;
  readonly turns: readonly TurnView[];
  readonly lease: LeaseRow | null;
  readonly streams: readonly StreamView[];
  readonly calls: readonly CallRecord[];
  readonly pushes: readonly PushRecord[];
  readonly configs: readonly PushConfigRow[];
  readonly letters: readonly DeadLetterRow[];
  readonly logs: readonly LogRecord[];
}

/** A turn: the rows from the one that opened it up to the next opening. */
export interface TurnView {
  readonly epoch: number;
  readonly rows: readonly EventRow[];
  /** Who opened it, and so holds its lease. */
  readonly holder: string;
  readonly openedAtMs: number;
}

/** Indexes a history. */
export function viewOf(history: History): HistoryView {
  const rows = new Map(history.tables.tasks.map((row) => [row.taskId, row]));
  const events = grouped(history.tables.events);
  const leases = new Map(history.tables.leases.map((lease) => [lease.taskId, lease]));
  const streams = grouped(history.streams.map(withoutReset));
  const calls = grouped(history.calls);
  const pushes = grouped(history.pushes);
  const configs = grouped(history.tables.pushConfigs);
  const letters = grouped(history.tables.deadLetters);
  const logs = grouped(history.logs);
  const named = [rows, events, leases, streams, calls, pushes, configs, logs].flatMap((map) => [
    ...map.keys(),
  ]);
  const poison = history.faults.filter(({ kind }) => kind === 'poison');
  const tasks = [...new Set(named)].map((taskId): TaskView => {
    const ofTask = events.get(taskId) ?? [];
    const read = ofTask.flatMap((row) => readRow(row) ?? []);
    return {
      taskId,
      row: rows.get(taskId) ?? null,
      events: ofTask,
      read,
      poisoned: poison.some(({ detail }) => detail.includes(taskId)),
      turns: turnsOf(ofTask),
      lease: leases.get(taskId) ?? null,
      streams: streams.get(taskId) ?? [],
      calls: calls.get(taskId) ?? [],
      pushes: pushes.get(taskId) ?? [],
      configs: configs.get(taskId) ?? [],
      letters: letters.get(taskId) ?? [],
      logs: logs.get(taskId) ?? [],
      ...createFold(read),
    };
  });
  const { replicas, beganAtMs } = history;
  return {
    history,
    tasks: new Map(tasks.map((task) => [task.taskId, task])),
    replicas: new Map(replicas.map((replica) => [replica.name, replica])),
    byHolder: new Map(replicas.flatMap((replica) => (replica.holder ? [[replica.holder, replica]] : []))),
    lockedTasks: new Map(
      history.faults
        .filter(({ kind }) => kind === 'rows_locked')
        .map((fault) => [
          fault,
          tasks.flatMap(({ taskId }) => (fault.detail.includes(taskId) ? [taskId] : [])),
        ]),
    ),
    at: (ms) => `+${Math.round(ms - beganAtMs)} ms`,
  };
}

/** The name of the boot behind a holder, for texts and for looking up its faults. */
export function replicaOf(view: HistoryView, holder: string): string {
  return view.byHolder.get(holder)?.name ?? holder;
}

function grouped<T extends { readonly taskId?: string | null }>(records: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const record of records) {
    const { taskId } = record;
    if (!taskId) continue;
    const group = groups.get(taskId);
    if (group) group.push(record);
    else groups.set(taskId, [record]);
  }
  return groups;
}

function turnsOf(events: readonly EventRow[]): TurnView[] {
  const turns: EventRow[][] = [];
  for (const row of events) {
    const current = turns.at(-1);
    if (current === undefined || (row.kind === 'message' && row.epoch === row.seq)) turns.push([row]);
    else current.push(row);
  }
  return turns.flatMap((rows) => {
    const [first] = rows;
    if (first === undefined) return [];
    const { holder, createdAtMs } = first;
    return [{ epoch: first.kind === 'message' ? first.seq : 1, rows, holder, openedAtMs: createdAtMs }];
  });
}
