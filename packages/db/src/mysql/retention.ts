import { TERMINAL_STATE_NAMES } from '@a2a-cluster/core';
import type {
  Compacted,
  Compaction,
  CompactTask,
  Purge,
  Purged,
  RetentionFound,
  RetentionStatements,
  RetentionStep,
} from '../statements/retention-statements.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { microseconds, replaceSnapshot } from './writes.js';

/** Retention on MySQL and MariaDB (protocol 11). */
export function createRetention(pools: { readonly writes: Pool; readonly reads: Pool }): RetentionStatements {
  const { writes, reads } = pools;
  return {
    find: (step) => find(reads, step),
    compact: (compaction) => transact(writes, (tx) => compact(tx, compaction)),
    purge: (purge) => transact(writes, (tx) => purgeTasks(tx, purge)),
  };
}

const TERMINAL = TERMINAL_STATE_NAMES.map((name) => `'${name}'`).join(', ');

/** A task `t` that has ended so many microseconds ago. Judged by the earliest time of the statement. */
const ENDED = `t.state IN (${TERMINAL}) AND t.updated_at < NOW(6) - INTERVAL ? MICROSECOND`;

/** What keeps a task `t` that has ended. */
const KEPT = `EXISTS (SELECT 1 FROM task_leases x WHERE x.task_id = t.id)
   OR EXISTS (SELECT 1 FROM push_notification_configs c
               WHERE c.task_id = t.id AND c.status = 'active' AND c.position < t.version)
   OR EXISTS (SELECT 1 FROM push_dead_letters d WHERE d.task_id = t.id AND d.due_at IS NOT NULL)`;

async function find(reads: Pool, step: RetentionStep): Promise<RetentionFound> {
  const { after, limit, endedForMs, due } = step;
  const rows = await read(
    reads,
    statement(
      `SELECT t.id, t.version, COALESCE(s.version, 0) AS snapshot_version,
              ${ENDED} AND NOT (${KEPT})
              AND (? OR EXISTS (SELECT 1 FROM task_events e WHERE e.task_id = t.id)) AS due
         FROM (SELECT id, state, version, updated_at FROM tasks FORCE INDEX (PRIMARY)
                WHERE id > ? ORDER BY id LIMIT ?) t
         LEFT JOIN task_snapshots s ON s.task_id = t.id
        ORDER BY t.id`,
      microseconds(endedForMs),
      due === 'task' ? 1 : 0,
      after,
      limit,
    ),
  );
  const last = rows.at(-1);
  return {
    tasks: rows
      .filter((row) => numberAt(row, 'due') !== 0)
      .map((row) => ({
        taskId: textAt(row, 'id'),
        version: numberAt(row, 'version'),
        snapshotVersion: numberAt(row, 'snapshot_version'),
      })),
    next: last === undefined || rows.length < limit ? null : textAt(last, 'id'),
  };
}

/**
 * Locks those of these tasks that have ended, then asks what keeps them: leases and positions by plain reads, for
 * under the lock of an ended task's row neither comes back.
 */
async function lockDue(
  tx: Transaction,
  { taskIds, endedForMs }: { readonly taskIds: readonly string[]; readonly endedForMs: number },
): Promise<readonly Row[]> {
  if (taskIds.length === 0) return [];
  const [locked = []] = await tx.read(
    statement(
      `SELECT t.id, t.tenant, t.owner, t.state, t.version FROM tasks t FORCE INDEX (PRIMARY)
        WHERE t.id IN (?) AND ${ENDED} ORDER BY t.id FOR UPDATE SKIP LOCKED`,
      taskIds,
      microseconds(endedForMs),
    ),
  );
  if (locked.length === 0) return [];
  const ids = locked.map((row) => textAt(row, 'id'));
  const [kept = []] = await tx.read(
    statement(`SELECT t.id FROM tasks t WHERE t.id IN (?) AND (${KEPT})`, ids),
  );
  const keptIds = new Set(kept.map((row) => textAt(row, 'id')));
  return locked.filter((row) => !keptIds.has(textAt(row, 'id')));
}

async function compact(tx: Transaction, compaction: Compaction): Promise<Compacted> {
  const { tasks, endedForMs, maxEvents } = compaction;
  const due = await lockDue(tx, { taskIds: tasks.map(({ taskId }) => taskId), endedForMs });
  if (due.length === 0) return { events: 0, taskIds: [] };
  const versions = new Map(due.map((row) => [textAt(row, 'id'), numberAt(row, 'version')]));
  const current = tasks.filter(({ taskId, version }) => versions.get(taskId) === version);
  const stored = await snapshotVersions(tx, current);
  const writes: Statement[] = [];
  const taken = current.filter((task) => {
    const { taskId, version, snapshot } = task;
    if (snapshot === null) return stored.get(taskId) === version;
    const replaced = replaceSnapshot({ taskId, version, payload: snapshot }, tx.maxPacketBytes);
    writes.push(...replaced);
    // A document that the server does not take stays in its events.
    return replaced.length > 0;
  });
  if (taken.length === 0) return { events: 0, taskIds: [] };
  const taskIds = taken.map(({ taskId }) => taskId);
  const trim = await planTrim(tx, taskIds, maxEvents);
  await tx.commit([...writes, ...trim.deletes]);
  return { events: trim.events, taskIds };
}

async function snapshotVersions(
  tx: Transaction,
  tasks: readonly CompactTask[],
): Promise<ReadonlyMap<string, number>> {
  const asked = tasks.filter(({ snapshot }) => snapshot === null).map(({ taskId }) => taskId);
  if (asked.length === 0) return new Map();
  const [rows = []] = await tx.read(
    statement('SELECT task_id, version FROM task_snapshots WHERE task_id IN (?)', asked),
  );
  return new Map(rows.map((row) => [textAt(row, 'task_id'), numberAt(row, 'version')]));
}

/** What is deleted of these logs, the first events of each first. */
interface Trim {
  readonly events: number;
  readonly deletes: readonly Statement[];
  /** The tasks whose last event goes with it. */
  readonly emptied: ReadonlySet<string>;
}

/**
 * Which events go. Their keys are read, in order, from the primary key alone; deletes by ranges of it then lock what
 * they delete and nothing else. Nobody writes to the log of an ended task, so what was read stays true.
 */
async function planTrim(tx: Transaction, taskIds: readonly string[], maxEvents: number): Promise<Trim> {
  const [rows = []] = await tx.read(
    statement(
      'SELECT task_id, seq FROM task_events WHERE task_id IN (?) ORDER BY task_id, seq LIMIT ?',
      taskIds,
      maxEvents + 1,
    ),
  );
  const going = rows.slice(0, maxEvents);
  const upTo = new Map(going.map((row) => [textAt(row, 'task_id'), numberAt(row, 'seq')]));
  const next = rows[maxEvents];
  const cut = next === undefined ? null : textAt(next, 'task_id');
  // Ids are sorted by the server: all before the one that is cut are done, and it and those after it are not.
  const order = [...taskIds].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const emptied = cut === null ? order : order.slice(0, order.indexOf(cut));
  return {
    events: going.length,
    deletes: [...upTo].map(([taskId, seq]) =>
      statement('DELETE FROM task_events WHERE task_id = ? AND seq <= ?', taskId, seq),
    ),
    emptied: new Set(emptied),
  };
}

async function purgeTasks(tx: Transaction, purge: Purge): Promise<Purged> {
  const due = await lockDue(tx, purge);
  if (due.length === 0) return { purged: [], events: 0 };
  const trim = await planTrim(
    tx,
    due.map((row) => textAt(row, 'id')),
    purge.maxEvents,
  );
  const going = due.filter((row) => trim.emptied.has(textAt(row, 'id')));
  const ids = going.map((row) => textAt(row, 'id'));
  const rest = ids.length === 0 ? [] : DELETE_REST.map((sql) => statement(sql, ids));
  await tx.commit([...trim.deletes, ...rest]);
  return {
    events: trim.events,
    purged: going.map((row) => ({
      taskId: textAt(row, 'id'),
      scope: { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') },
      state: textAt(row, 'state'),
    })),
  };
}

const DELETE_REST = [
  'DELETE FROM task_snapshots WHERE task_id IN (?)',
  'DELETE FROM push_dead_letters WHERE task_id IN (?)',
  'DELETE FROM push_notification_configs WHERE task_id IN (?)',
  'DELETE FROM tasks WHERE id IN (?)',
];
