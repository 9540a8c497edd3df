import { toListing, type ListRow } from '../statements/push-queue-rows.js';
import type { PushListing, PushQueueStatements } from '../statements/push-queue.js';
import type { PushPools } from './push-claims.js';
import { ageMs, keyAt, keysIn, lettersIn, msBetween } from './push-rows.js';
import { read } from './reads.js';
import { numberAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import { transact } from './transaction.js';

/** What operators ask and do, on MySQL and MariaDB. */
export function createPushOperators(
  pools: PushPools,
): Pick<PushQueueStatements, 'retry' | 'list' | 'counts'> {
  return {
    retry: (find) => retry(pools, find),
    list: (find) => list(pools, find),
    async counts() {
      const [row = {}] = await read(pools.reads, statement(COUNTS));
      return {
        waiting: numberAt(row, 'waiting'),
        retrying: numberAt(row, 'retrying'),
        disabled: numberAt(row, 'disabled'),
        deadLetters: numberAt(row, 'dead_letters'),
      };
    },
  };
}

async function retry(
  { writes }: PushPools,
  { taskId, configId }: Parameters<PushQueueStatements['retry']>[0],
): Promise<{ readonly configs: number; readonly deadLetters: number }> {
  const of = (table: string): string =>
    `${table}.task_id = ?${configId === undefined ? '' : ` AND ${table}.config_id = ?`}`;
  const values = [taskId, ...(configId === undefined ? [] : [configId])];
  return transact(writes, async (tx) => {
    const [configs = [], tasks = []] = await tx.read(
      statement(
        `SELECT c.task_id, c.config_id, c.status, c.position, c.holder FROM push_notification_configs c
          WHERE ${of('c')} ORDER BY c.config_id FOR UPDATE`,
        ...values,
      ),
      statement('SELECT version FROM tasks WHERE id = ?', taskId),
    );
    const [letters = []] = await tx.read(
      statement(
        `SELECT d.task_id, d.config_id, d.seq FROM push_dead_letters d
          WHERE ${of('d')} AND d.due_at IS NULL AND d.delivered_at IS NULL
          ORDER BY d.config_id, d.seq FOR UPDATE`,
        ...values,
      ),
    );
    const version = Number(tasks[0]?.['version'] ?? 0);
    const waiting = configs.filter(
      (row) =>
        row['status'] === 'disabled' ||
        (row['status'] === 'active' && row['holder'] === null && version > numberAt(row, 'position')),
    );
    // Without its config there is nowhere to send to.
    const there = new Set(configs.map((row) => row['config_id']));
    const queued = letters.filter((row) => there.has(row['config_id']));
    await tx.commit([...hurry(waiting.map(keyAt)), ...queue(queued)]);
    return { configs: waiting.length, deadLetters: queued.length };
  });
}

/** `status` last: assignments go from left to right and see each other. */
function hurry(keys: Parameters<typeof keysIn>[0]): readonly Statement[] {
  if (keys.length === 0) return [];
  const wanted = keysIn(keys);
  const anew = (column: string, value: string): string =>
    `c.${column} = IF(c.status = 'disabled', ${value}, c.${column})`;
  return [
    statement(
      `UPDATE push_notification_configs c FORCE INDEX (PRIMARY) SET c.due_at = LEAST(COALESCE(c.due_at, SYSDATE(3)), SYSDATE(3)),
        ${anew('attempts', '0')}, ${anew('failing_since', 'NULL')}, ${anew('last_error', 'NULL')}, c.status = 'active'
        WHERE ${wanted.sql}`,
      ...wanted.values,
    ),
  ];
}

function queue(letters: readonly Row[]): readonly Statement[] {
  if (letters.length === 0) return [];
  const wanted = lettersIn(letters);
  const sql = `UPDATE push_dead_letters d FORCE INDEX (PRIMARY) SET d.due_at = SYSDATE(3) WHERE ${wanted.sql}`;
  return [statement(sql, ...wanted.values)];
}

const LISTED = `SELECT c.task_id, c.config_id, c.tenant, c.owner, c.url, c.status, c.position,
  COALESCE(t.version, 0) AS version, c.attempts, c.last_error, c.holder, c.due_at,
  ${msBetween('SYSDATE(6)', 'c.due_at')} AS due_in_ms, ${ageMs('c.failing_since')} AS failing_for_ms
  FROM push_notification_configs c`;
const WITH_TASK = 'LEFT JOIN tasks t ON t.id = c.task_id';

async function list(
  { reads }: PushPools,
  { taskId, limit }: Parameters<PushQueueStatements['list']>[0],
): Promise<readonly PushListing[]> {
  const all = `SELECT * FROM (
    (${LISTED} FORCE INDEX (push_notification_configs_status_due_at_idx) ${WITH_TASK}
      WHERE c.status = 'active' AND c.due_at IS NOT NULL AND (c.holder IS NOT NULL OR t.version > c.position)
      ORDER BY c.due_at LIMIT ?)
    UNION ALL
    (${LISTED} ${WITH_TASK} WHERE c.status = 'disabled' ORDER BY c.task_id, c.config_id LIMIT ?)) x
    ORDER BY due_at IS NULL, due_at, task_id, config_id LIMIT ?`;
  const one = `${LISTED} ${WITH_TASK} WHERE c.task_id = ? ORDER BY c.due_at IS NULL, c.due_at, c.config_id LIMIT ?`;
  const find = taskId === undefined ? statement(all, limit, limit, limit) : statement(one, taskId, limit);
  return (await read(reads, find)).map((row) => toListing(row as unknown as ListRow));
}

const COUNTS = `SELECT COUNT(*) AS waiting, COUNT(IF(c.attempts > 0, 1, NULL)) AS retrying,
  (SELECT COUNT(*) FROM push_notification_configs WHERE status = 'disabled') AS disabled,
  (SELECT COUNT(*) FROM push_dead_letters WHERE delivered_at IS NULL) AS dead_letters
  FROM push_notification_configs c JOIN tasks t ON t.id = c.task_id
  WHERE c.status = 'active' AND t.version > c.position`;
