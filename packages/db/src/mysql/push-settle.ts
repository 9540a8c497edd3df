import { isTerminalName } from '@a2a-cluster/core';
import { putOffMs, storableText } from '../statements/push-queue-rules.js';
import type { PushKey, PushSettlement } from '../statements/push-queue.js';
import { wake, type PushPools } from './push-claims.js';
import { byTask, keyAt, keyText, keysIn, msBetween, tasksOf, type TaskNow } from './push-rows.js';
import { numberAt, textAt, textOrNullAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { microseconds } from './writes.js';

/** A moment as text that can be stored again. */
const momentText = (column: string): string => `DATE_FORMAT(${column}, '%Y-%m-%d %H:%i:%s.%f')`;

const COLUMNS = `c.task_id, c.config_id, c.claim, c.holder, c.position, c.status, c.attempts, c.last_error, c.body_seq,
  ${momentText('c.failing_since')} AS failing_since, ${momentText('c.changed_at')} AS changed_at,
  ${msBetween('c.changed_at', 'SYSDATE(6)')} AS unchanged_ms`;

/**
 * Stores settlements in one transaction of two trips: the rows are locked in the order of their key, so two
 * settlements never wait for each other, and written by one statement.
 */
export async function settle(
  pools: PushPools,
  settlements: readonly PushSettlement[],
): Promise<readonly PushKey[]> {
  if (settlements.length === 0) return [];
  const settled = await transact(pools.writes, (tx) => settleLocked(tx, settlements));
  await wake(
    pools,
    settled.filter(({ idle }) => idle).map(({ key }) => key),
  );
  return settled.map(({ key }) => key);
}

interface Settled {
  readonly key: PushKey;
  /** Put off: it has no events. */
  readonly idle: boolean;
  /** Expressions and values of its row. */
  readonly row: Statement;
}

async function settleLocked(
  tx: Transaction,
  settlements: readonly PushSettlement[],
): Promise<readonly Settled[]> {
  const wanted = keysIn(settlements);
  const [rows = [], taskRows = []] = await tx.read(
    statement(
      `SELECT ${COLUMNS} FROM push_notification_configs c FORCE INDEX (PRIMARY)
        WHERE ${wanted.sql} AND c.holder IS NOT NULL ORDER BY c.task_id, c.config_id FOR UPDATE`,
      ...wanted.values,
    ),
    tasksOf(settlements.map(({ taskId }) => taskId)),
  );
  const tasks = byTask(taskRows);
  const byKey = new Map(settlements.map((settlement) => [keyText(settlement), settlement]));
  const settled = rows.flatMap((row) => {
    const settlement = byKey.get(keyText(keyAt(row)));
    const held = settlement?.claim === numberAt(row, 'claim');
    return settlement && held ? [settleOne(row, settlement, tasks.get(settlement.taskId))] : [];
  });
  if (settled.length > 0) await tx.commit([writeRows(settled)]);
  return settled;
}

/** What becomes of the row. Moments that stay are written back as they were. */
function settleOne(row: Row, settlement: PushSettlement, task: TaskNow | undefined): Settled {
  const { delivered, next } = settlement;
  const key = keyAt(row);
  const stored = numberAt(row, 'position');
  const position = Math.max(stored, settlement.position);
  const moved = position > stored;
  const end = endOf({ next, position, task, unchangedMs: moved ? 0 : numberAt(row, 'unchanged_ms') });
  const failingSince = delivered ? null : textOrNullAt(row, 'failing_since');
  const bodySeq = row['body_seq'] as number | null;
  const cleared = delivered || (bodySeq ?? Infinity) <= settlement.position;
  const retries = next.kind === 'retry';
  const failing = retries && failingSince === null ? NOW : given(failingSince);
  const parts = [
    ...[key.taskId, key.configId, position, end.status].map(given),
    end.dueInMs === null ? given(null) : later(end.dueInMs),
    given(next.kind === 'keep' ? textAt(row, 'holder') : null),
    given((delivered ? 0 : numberAt(row, 'attempts')) + (retries ? 1 : 0)),
    failing,
    given('error' in next ? storableText(next.error) : delivered ? null : textOrNullAt(row, 'last_error')),
    given(cleared ? null : bodySeq),
    moved ? NOW : given(textAt(row, 'changed_at')),
  ];
  const values = parts.flatMap((part) => part.values);
  return { key, idle: end.idle, row: statement(parts.map(({ sql }) => sql).join(', '), ...values) };
}

const NOW = statement('SYSDATE(3)');
const given = (value: unknown): Statement => statement('?', value);
const later = (ms: number): Statement => statement('SYSDATE(3) + INTERVAL ? MICROSECOND', microseconds(ms));

interface End {
  readonly status: string;
  readonly dueInMs: number | null;
  readonly idle: boolean;
}

function endOf(parts: {
  readonly next: PushSettlement['next'];
  readonly position: number;
  readonly task: TaskNow | undefined;
  readonly unchangedMs: number;
}): End {
  const { next, position, task, unchangedMs } = parts;
  const active = (dueInMs: number, idle = false): End => ({ status: 'active', dueInMs, idle });
  if (next.kind === 'keep') return active(next.ttlMs);
  if (next.kind === 'retry') return active(next.delayMs);
  if (next.kind === 'disable') return { status: 'disabled', dueInMs: null, idle: false };
  if ((task?.version ?? 0) > position) return active(0);
  if (isTerminalName(task?.state ?? '')) return { status: 'done', dueInMs: null, idle: false };
  return active(putOffMs(unchangedMs), true);
}

/**
 * One statement for rows that are there and locked: it inserts none. Columns that have no default, and do not change,
 * are given as empty text that is never stored.
 */
function writeRows(settled: readonly Settled[]): Statement {
  const columns = ['position', 'status', 'due_at', 'holder', 'attempts', 'failing_since', 'last_error'];
  const list = [...columns, 'body_seq', 'changed_at'];
  return statement(
    `INSERT INTO push_notification_configs
      (task_id, config_id, ${list.join(', ')}, tenant, owner, url, payload, wire_version)
      VALUES ${settled.map(({ row }) => `(${row.sql}, '', '', '', '', '')`).join(', ')}
      ON DUPLICATE KEY UPDATE body = IF(VALUES(body_seq) IS NULL, NULL, body),
        ${list.map((column) => `${column} = VALUES(${column})`).join(', ')}`,
    ...settled.flatMap(({ row }) => row.values),
  );
}
