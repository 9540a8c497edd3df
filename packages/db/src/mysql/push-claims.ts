import { isTerminalName } from '@a2a-cluster/core';
import { toClaimed, type ClaimedRow } from '../statements/push-queue-rows.js';
import { FORGOTTEN_AFTER_MS, LEAST_PUT_OFF_MS, MOST_PUT_OFF_MS } from '../statements/push-queue-rules.js';
import type { ClaimedPush, PushClaimant, PushKey, PushQueueStatements } from '../statements/push-queue.js';
import type { Pool } from './pool.js';
import { ageMs, byTask, keyAt, keysIn, msBetween, tasksOf, type TaskNow } from './push-rows.js';
import { read, write } from './reads.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { microseconds } from './writes.js';

/** The connections a claim goes over. */
export interface PushPools {
  readonly writes: Pool;
  readonly reads: Pool;
}

const CLAIMED = `c.task_id, c.config_id, c.tenant, c.owner, c.payload, c.wire_version, c.origin, c.claim + 1 AS claim,
  c.position, c.attempts, c.body_seq, c.body, COALESCE(${ageMs('c.failing_since')}, 0e0) AS failing_for_ms,
  ${msBetween('c.changed_at', 'SYSDATE(6)')} AS unchanged_ms`;

const FREE = `c.status = 'active' AND (c.due_at <= SYSDATE(3) OR (c.holder IS NULL AND c.attempts = 0))`;

/** Candidates are read without locks: most commits are of tasks without any config, and lock nothing. */
export async function claimOf(
  { writes, reads }: PushPools,
  claim: Parameters<PushQueueStatements['claimOf']>[0],
): ReturnType<PushQueueStatements['claimOf']> {
  if (claim.taskIds.length === 0) return { claimed: [], known: [] };
  const active = await read(
    reads,
    statement(
      `SELECT c.task_id, c.config_id, c.origin, (t.version > c.position AND ${FREE}) AS free
        FROM push_notification_configs c FORCE INDEX (PRIMARY)
        LEFT JOIN tasks t ON t.id = c.task_id AND t.tenant = c.tenant AND t.owner = c.owner
        WHERE c.task_id IN (?) AND c.status = 'active'`,
      [...new Set(claim.taskIds)],
    ),
  );
  const except = new Set(claim.exceptOrigins);
  const free = active.filter((row) => row['free'] === 1 && !except.has(textAt(row, 'origin'))).map(keyAt);
  const known = [...new Set(active.map((row) => textAt(row, 'task_id')))];
  if (free.length === 0) return { claimed: [], known };
  const claimed = await transact(writes, async (tx) => {
    const { rows, tasks } = await lock(tx, free, FREE);
    const waiting = rows.filter((row) => hasEvents(row, tasks));
    if (waiting.length > 0) await tx.commit([take(claim, waiting)]);
    return waiting.flatMap((row) => toPush(row, tasks));
  });
  return { claimed, known };
}

/**
 * Claims what is due. Candidates are read without locks and judged again under them: a locking scan by `due_at` would
 * stand in the way of whoever moves it. Of two that claim at once, one may find all of its candidates taken; both are
 * told how many there were.
 */
export async function claimDue(
  pools: PushPools,
  claim: Parameters<PushQueueStatements['claimDue']>[0],
): ReturnType<PushQueueStatements['claimDue']> {
  const { limit, exceptOrigins, onlyOrigins } = claim;
  if (onlyOrigins?.length === 0) return { claimed: [], seen: 0 };
  const except = exceptOrigins.length > 0;
  const candidates = await read(
    pools.reads,
    statement(
      `SELECT c.task_id, c.config_id
        FROM push_notification_configs c FORCE INDEX (push_notification_configs_status_due_at_idx)
        WHERE c.status = 'active' AND c.due_at <= NOW(3)${except ? ' AND c.origin NOT IN (?)' : ''}
        ${onlyOrigins ? 'AND c.origin IN (?)' : ''}
        ORDER BY c.due_at LIMIT ?`,
      ...(except ? [exceptOrigins] : []),
      ...(onlyOrigins ? [onlyOrigins] : []),
      limit,
    ),
  );
  if (candidates.length === 0) return { claimed: [], seen: 0 };
  const { claimed, idle } = await transact(pools.writes, (tx) =>
    claimLocked({ tx, claim, keys: candidates.map(keyAt) }),
  );
  await wake(pools, idle);
  return { claimed, seen: candidates.length };
}

async function claimLocked(parts: {
  readonly tx: Transaction;
  readonly claim: PushClaimant;
  readonly keys: readonly PushKey[];
}): Promise<{ readonly claimed: readonly ClaimedPush[]; readonly idle: readonly PushKey[] }> {
  const { tx, claim, keys } = parts;
  const { rows, tasks } = await lock(tx, keys, `c.status = 'active' AND c.due_at <= SYSDATE(3)`);
  const waiting = rows.filter((row) => hasEvents(row, tasks));
  const others = rows.filter((row) => !hasEvents(row, tasks));
  const stateOf = (row: Row): string | undefined => taskOf(row, tasks)?.state;
  const done = others.filter((row) => isTerminalName(stateOf(row) ?? ''));
  const forgotten = others.filter(
    (row) => stateOf(row) === undefined && numberAt(row, 'unchanged_ms') > FORGOTTEN_AFTER_MS,
  );
  const idle = others.filter((row) => !done.includes(row) && !forgotten.includes(row));
  const changes = [
    ...(waiting.length > 0 ? [take(claim, waiting)] : []),
    ...change(`SET c.status = 'done', c.holder = NULL, c.due_at = NULL`, done),
    ...change(`SET c.holder = NULL, c.due_at = ${PUT_OFF}`, idle),
    ...forget(forgotten),
  ];
  if (changes.length > 0) await tx.commit(changes);
  return { claimed: waiting.flatMap((row) => toPush(row, tasks)), idle: idle.map(keyAt) };
}

/** See `putOffMs`. */
const PUT_OFF = `SYSDATE(3) + INTERVAL LEAST(${MOST_PUT_OFF_MS}000, GREATEST(${LEAST_PUT_OFF_MS}000,
  TIMESTAMPDIFF(MICROSECOND, c.changed_at, SYSDATE(6)) DIV 4)) MICROSECOND`;

/** Locks configs that nobody else has locked, in the order of their key; then reads their tasks, which are not locked. */
async function lock(
  tx: Transaction,
  keys: readonly PushKey[],
  condition: string,
): Promise<{ readonly rows: readonly Row[]; readonly tasks: ReadonlyMap<string, TaskNow> }> {
  const wanted = keysIn(keys);
  const [rows = [], tasks = []] = await tx.read(
    statement(
      `SELECT ${CLAIMED} FROM push_notification_configs c FORCE INDEX (PRIMARY)
        WHERE ${wanted.sql} AND ${condition} ORDER BY c.task_id, c.config_id FOR UPDATE SKIP LOCKED`,
      ...wanted.values,
    ),
    tasksOf(keys.map(({ taskId }) => taskId)),
  );
  return { rows, tasks: byTask(tasks) };
}

function hasEvents(row: Row, tasks: ReadonlyMap<string, TaskNow>): boolean {
  return (taskOf(row, tasks)?.version ?? 0) > numberAt(row, 'position');
}

/** The config's task; another owner's is none. */
function taskOf(row: Row, tasks: ReadonlyMap<string, TaskNow>): TaskNow | undefined {
  const task = tasks.get(textAt(row, 'task_id'));
  return task?.tenant === row['tenant'] && task?.owner === row['owner'] ? task : undefined;
}

function take({ holder, ttlMs }: PushClaimant, rows: readonly Row[]): Statement {
  const wanted = keysIn(rows.map(keyAt));
  return statement(
    `UPDATE push_notification_configs c FORCE INDEX (PRIMARY) SET c.holder = ?, c.claim = c.claim + 1,
      c.due_at = SYSDATE(3) + INTERVAL ? MICROSECOND WHERE ${wanted.sql}`,
    holder,
    microseconds(ttlMs),
    ...wanted.values,
  );
}

function change(assignment: string, rows: readonly Row[]): readonly Statement[] {
  if (rows.length === 0) return [];
  const wanted = keysIn(rows.map(keyAt));
  return [
    statement(
      `UPDATE push_notification_configs c FORCE INDEX (PRIMARY) ${assignment} WHERE ${wanted.sql}`,
      ...wanted.values,
    ),
  ];
}

function forget(rows: readonly Row[]): readonly Statement[] {
  if (rows.length === 0) return [];
  const wanted = keysIn(rows.map(keyAt));
  const sql = `DELETE c FROM push_notification_configs c FORCE INDEX (PRIMARY) WHERE ${wanted.sql}`;
  return [statement(sql, ...wanted.values)];
}

function toPush(row: Row, tasks: ReadonlyMap<string, TaskNow>): ClaimedPush[] {
  const task = taskOf(row, tasks);
  return task ? toClaimed({ ...row, ...task } as unknown as ClaimedRow) : [];
}

/**
 * Makes those of the configs due at once that have events by now: they were put off by what their transaction saw of
 * the tasks before it ended. What it is called after has been stored: where it fails, they are looked at when due.
 */
export async function wake({ writes, reads }: PushPools, keys: readonly PushKey[]): Promise<void> {
  if (keys.length === 0) return;
  const wanted = keysIn(keys);
  const late = statement(
    `SELECT c.task_id, c.config_id FROM push_notification_configs c FORCE INDEX (PRIMARY) JOIN tasks t ON t.id = c.task_id
      WHERE ${wanted.sql} AND c.status = 'active' AND c.holder IS NULL AND t.version > c.position`,
    ...wanted.values,
  );
  try {
    const rows = await read(reads, late);
    if (rows.length === 0) return;
    const found = keysIn(rows.map(keyAt));
    const sql = `UPDATE push_notification_configs c FORCE INDEX (PRIMARY) SET c.due_at = SYSDATE(3)
      WHERE ${found.sql} AND c.status = 'active' AND c.holder IS NULL`;
    await write(writes, statement(sql, ...found.values));
  } catch {
    // As the comment above says.
  }
}
