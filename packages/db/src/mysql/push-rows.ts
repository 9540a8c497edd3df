import type { PushKey } from '../statements/push-queue.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';

/** A condition that names configs by their whole key: both servers make points of the primary key of it. */
export function keysIn(keys: readonly PushKey[]): Statement {
  const sql = keys.map(() => '(c.task_id = ? AND c.config_id = ?)').join(' OR ');
  return statement(`(${sql})`, ...keys.flatMap(({ taskId, configId }) => [taskId, configId]));
}

/** The same for dead letters, of rows that have their keys. */
export function lettersIn(rows: readonly Row[]): Statement {
  const sql = rows.map(() => '(d.task_id = ? AND d.config_id = ? AND d.seq = ?)').join(' OR ');
  const keys = rows.map((row) => [textAt(row, 'task_id'), textAt(row, 'config_id'), numberAt(row, 'seq')]);
  return statement(`(${sql})`, ...keys.flat());
}

/** The key of a row. */
export function keyAt(row: Row): PushKey {
  return { taskId: textAt(row, 'task_id'), configId: textAt(row, 'config_id') };
}

/** A key as one text. */
export function keyText({ taskId, configId }: PushKey): string {
  return JSON.stringify([taskId, configId]);
}

/** Milliseconds between two moments, as a number: without `e0` it would be a decimal. */
export function msBetween(from: string, to: string): string {
  return `TIMESTAMPDIFF(MICROSECOND, ${from}, ${to}) / 1000e0`;
}

/** Milliseconds since a moment, never below 0; null stays null. */
export function ageMs(column: string): string {
  return `GREATEST(0e0, ${msBetween(column, 'SYSDATE(6)')})`;
}

/** The tasks behind configs, as they are now; without locks. */
export function tasksOf(taskIds: readonly string[]): Statement {
  return statement('SELECT id, tenant, owner, version, state FROM tasks WHERE id IN (?)', [
    ...new Set(taskIds),
  ]);
}

/** A task as {@link tasksOf} gives it. */
export interface TaskNow {
  readonly tenant: string;
  readonly owner: string;
  readonly version: number;
  readonly state: string;
}

/** By task id. */
export function byTask(rows: readonly Row[]): ReadonlyMap<string, TaskNow> {
  return new Map(rows.map((row) => [textAt(row, 'id'), row as unknown as TaskNow]));
}
