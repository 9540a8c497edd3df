import {
  toDeadLetter,
  toDeadListing,
  type DeadListRow,
  type DeadRow,
} from '../statements/push-queue-rows.js';
import { storableText } from '../statements/push-queue-rules.js';
import type { ClaimedDeadLetter, PushQueueStatements } from '../statements/push-queue.js';
import type { PushPools } from './push-claims.js';
import { ageMs, lettersIn } from './push-rows.js';
import { read, write } from './reads.js';
import type { Row } from './rows.js';
import { statement } from './texts.js';
import { transact } from './transaction.js';
import { microseconds } from './writes.js';

type DeadLetterStatements = Pick<
  PushQueueStatements,
  'bury' | 'claimDeadLetters' | 'settleDeadLetter' | 'listDeadLetters'
>;

/** The dead letters on MySQL and MariaDB. */
export function createDeadLetters(pools: PushPools): DeadLetterStatements {
  return {
    bury: (letter) => bury(pools, letter),
    claimDeadLetters: (claim) => claimDeadLetters(pools, claim),
    async settleDeadLetter({ taskId, configId, seq, claim, error }) {
      const text = error === null ? null : storableText(error);
      const settled = statement(
        `UPDATE push_dead_letters SET delivered_at = IF(? IS NULL, SYSDATE(3), NULL), error = COALESCE(?, error),
          attempts = attempts + IF(? IS NULL, 0, 1), due_at = NULL, holder = NULL
          WHERE task_id = ? AND config_id = ? AND seq = ? AND claim = ? AND holder IS NOT NULL`,
        ...[text, text, text, taskId, configId, seq, claim],
      );
      return (await write(pools.writes, settled)) > 0;
    },
    async listDeadLetters({ taskId, limit }) {
      const find =
        taskId === undefined
          ? statement(`${LISTED} ORDER BY d.died_at DESC LIMIT ?`, limit)
          : statement(
              `${LISTED} WHERE d.task_id = ? ORDER BY d.died_at DESC, d.config_id DESC, d.seq DESC LIMIT ?`,
              taskId,
              limit,
            );
      return (await read(pools.reads, find)).map((row) => toDeadListing(row as unknown as DeadListRow));
    },
  };
}

const LISTED = `SELECT d.task_id, d.config_id, d.tenant, d.owner, COALESCE(c.url, '') AS url, d.seq, d.attempts, d.error,
  ${ageMs('d.died_at')} AS age_ms, d.due_at IS NOT NULL AS queued, d.delivered_at IS NOT NULL AS delivered
  FROM push_dead_letters d
  LEFT JOIN push_notification_configs c ON c.task_id = d.task_id AND c.config_id = d.config_id`;

/** ON DUPLICATE KEY takes the exclusive lock at once, see `grantLease`. */
const BURY = `INSERT INTO push_dead_letters
    (task_id, config_id, seq, tenant, owner, attempts, error, body, content_type, died_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, SYSDATE(3))
  ON DUPLICATE KEY UPDATE tenant = VALUES(tenant), owner = VALUES(owner), attempts = VALUES(attempts),
    error = VALUES(error), body = VALUES(body), content_type = VALUES(content_type), died_at = VALUES(died_at),
    due_at = NULL, holder = NULL, delivered_at = NULL`;

async function bury(
  { writes }: PushPools,
  letter: Parameters<PushQueueStatements['bury']>[0],
): Promise<boolean> {
  const { taskId, configId, claim, seq, ttlMs, attempts, error, body, contentType } = letter;
  return transact(writes, async (tx) => {
    const held = statement(
      `SELECT tenant, owner FROM push_notification_configs
        WHERE task_id = ? AND config_id = ? AND claim = ? AND holder IS NOT NULL FOR UPDATE`,
      ...[taskId, configId, claim],
    );
    const [[row] = []] = await tx.read(held);
    if (!row) return false;
    const { tenant, owner } = row;
    const what = [tenant, owner, attempts, storableText(error), body, contentType];
    await tx.commit([
      statement(BURY, taskId, configId, seq, ...what),
      statement(
        `UPDATE push_notification_configs SET position = GREATEST(position, ?), changed_at = SYSDATE(3), attempts = 0,
          failing_since = NULL, last_error = NULL, body_seq = NULL, body = NULL,
          due_at = SYSDATE(3) + INTERVAL ? MICROSECOND WHERE task_id = ? AND config_id = ?`,
        ...[seq, microseconds(ttlMs), taskId, configId],
      ),
    ]);
    return true;
  });
}

const QUEUED = `FROM push_dead_letters d JOIN push_notification_configs c
  ON c.task_id = d.task_id AND c.config_id = d.config_id`;

/** As `claimDue`: candidates without locks, judged again under them. The configs are read, not locked. */
async function claimDeadLetters(
  { writes, reads }: PushPools,
  { holder, ttlMs, limit }: Parameters<PushQueueStatements['claimDeadLetters']>[0],
): Promise<readonly ClaimedDeadLetter[]> {
  const candidates = await read(
    reads,
    statement(
      `SELECT d.task_id, d.config_id, d.seq, c.payload, c.wire_version, c.origin ${QUEUED}
        WHERE d.due_at <= NOW(3) ORDER BY d.due_at LIMIT ?`,
      limit,
    ),
  );
  if (candidates.length === 0) return [];
  const configs = new Map(candidates.map((row) => [letterText(row), row]));
  return transact(writes, async (tx) => {
    const wanted = lettersIn(candidates);
    const lock = statement(
      `SELECT task_id, config_id, seq, tenant, owner, attempts, error, body, content_type, claim + 1 AS claim
        FROM push_dead_letters d FORCE INDEX (PRIMARY) WHERE ${wanted.sql} AND due_at <= SYSDATE(3)
        ORDER BY task_id, config_id, seq FOR UPDATE SKIP LOCKED`,
      ...wanted.values,
    );
    const [rows = []] = await tx.read(lock);
    if (rows.length === 0) return [];
    const taken = lettersIn(rows);
    const take = statement(
      `UPDATE push_dead_letters d FORCE INDEX (PRIMARY) SET holder = ?, claim = claim + 1, due_at = SYSDATE(3) + INTERVAL ? MICROSECOND
        WHERE ${taken.sql}`,
      ...[holder, microseconds(ttlMs), ...taken.values],
    );
    await tx.commit([take]);
    return rows.map((row) => toDeadLetter({ ...configs.get(letterText(row)), ...row } as unknown as DeadRow));
  });
}

function letterText(row: Row): string {
  return JSON.stringify([row['task_id'], row['config_id'], row['seq']]);
}
