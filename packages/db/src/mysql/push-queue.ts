import type { PushQueueStatements } from '../statements/push-queue.js';
import { claimDue, claimOf, type PushPools } from './push-claims.js';
import { createDeadLetters } from './push-dead-letters.js';
import { createPushOperators } from './push-operators.js';
import { msBetween } from './push-rows.js';
import { settle } from './push-settle.js';
import { read, write } from './reads.js';
import { numberAt } from './rows.js';
import { statement } from './texts.js';

/** The statements of push delivery on MySQL and MariaDB (protocol 9). */
export function createPushQueue(pools: PushPools): PushQueueStatements {
  return {
    ...createDeadLetters(pools),
    ...createPushOperators(pools),
    claimOf: (claim) => claimOf(pools, claim),
    claimDue: (claim) => claimDue(pools, claim),
    settle: (settlements) => settle(pools, settlements),
    async storeBody({ taskId, configId, claim, seq, body }) {
      const store = statement(
        `UPDATE push_notification_configs SET body_seq = ?, body = ?
          WHERE task_id = ? AND config_id = ? AND claim = ? AND holder IS NOT NULL`,
        ...[seq, body, taskId, configId, claim],
      );
      return (await write(pools.writes, store)) > 0;
    },
    async nextDue() {
      const sql = `SELECT ${msBetween('SYSDATE(6)', 'due_at')} AS due_in_ms
        FROM push_notification_configs FORCE INDEX (push_notification_configs_status_due_at_idx)
        WHERE status = 'active' AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`;
      const [row] = await read(pools.reads, statement(sql));
      return row ? numberAt(row, 'due_in_ms') : null;
    },
  };
}
