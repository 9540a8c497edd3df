import { toListing, type ListRow } from '../statements/push-queue-rows.js';
import type { PushQueueStatements } from '../statements/push-queue.js';
import type { SqliteLane } from './connection.js';
import { NOW, numberAt } from './rows.js';
import type { SqliteSession } from './session.js';

/** What operators ask and do, on SQLite. */
export function createSqlitePushOperators(
  lane: SqliteLane,
): Pick<PushQueueStatements, 'retry' | 'list' | 'counts'> {
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    retry: ({ taskId, configId = null }) =>
      lane.run({
        name: 'retryPushes',
        writes: true,
        // Those that wait first: what was disabled waits after it, and counts once.
        work: (session) => ({
          configs:
            session.run(HURRY, taskId, configId, configId) + session.run(ENABLE, taskId, configId, configId),
          deadLetters: session.run(QUEUE, taskId, configId, configId),
        }),
      }),
    list: ({ taskId, limit }) =>
      read('listPushes', (session) => {
        const rows =
          taskId === undefined ? session.all(LIST, limit, limit, limit) : session.all(LIST_OF, taskId, limit);
        return rows.map((row) => toListing(row as unknown as ListRow));
      }),
    counts: () =>
      read('countPushes', (session) => {
        const row = session.get(COUNTS) ?? {};
        return {
          waiting: numberAt(row, 'waiting'),
          retrying: numberAt(row, 'retrying'),
          disabled: numberAt(row, 'disabled'),
          deadLetters: numberAt(row, 'dead_letters'),
        };
      }),
  };
}

const OF = 'task_id = ? AND (? IS NULL OR config_id = ?)';
const ENABLE = `
UPDATE push_notification_configs
   SET status = 'active', due_at = ${NOW}, attempts = 0, failing_since = NULL, last_error = NULL
 WHERE ${OF} AND status = 'disabled'`;
const HURRY = `
UPDATE push_notification_configs SET due_at = min(due_at, ${NOW})
 WHERE ${OF} AND status = 'active' AND holder IS NULL
   AND (SELECT t.version FROM tasks t WHERE t.id = push_notification_configs.task_id) > position`;
const QUEUE = `
UPDATE push_dead_letters SET due_at = ${NOW}
 WHERE ${OF} AND due_at IS NULL AND delivered_at IS NULL
   AND EXISTS (SELECT 1 FROM push_notification_configs c
                WHERE c.task_id = push_dead_letters.task_id AND c.config_id = push_dead_letters.config_id)`;

const LISTED = `
SELECT c.task_id, c.config_id, c.tenant, c.owner, c.url, c.status, c.position, coalesce(t.version, 0) AS version,
       c.attempts, c.last_error, c.holder, c.due_at, c.due_at - ${NOW} AS due_in_ms,
       max(0, ${NOW} - c.failing_since) AS failing_for_ms
  FROM push_notification_configs c LEFT JOIN tasks t ON t.id = c.task_id`;
const LIST = `
SELECT * FROM (${LISTED}
 WHERE c.due_at > 0 AND (c.holder IS NOT NULL OR t.version > c.position) ORDER BY c.due_at LIMIT ?)
UNION ALL
SELECT * FROM (${LISTED} WHERE c.status = 'disabled' ORDER BY c.task_id, c.config_id LIMIT ?)
 ORDER BY due_at NULLS LAST, task_id, config_id LIMIT ?`;
const LIST_OF = `${LISTED} WHERE c.task_id = ? ORDER BY c.due_at NULLS LAST, c.config_id LIMIT ?`;
const COUNTS = `
SELECT count(*) AS waiting, count(CASE WHEN c.attempts > 0 THEN 1 END) AS retrying,
       (SELECT count(*) FROM push_notification_configs WHERE status = 'disabled') AS disabled,
       (SELECT count(*) FROM push_dead_letters WHERE delivered_at IS NULL) AS dead_letters
  FROM push_notification_configs c JOIN tasks t ON t.id = c.task_id
 WHERE c.due_at > 0 AND t.version > c.position`;
