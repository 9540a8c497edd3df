import type { PushQueueStatements } from '../statements/push-queue.js';
import { claimDue, claimOf, type PushPools } from './push-claims.js';
import { createDeadLetters } from './push-dead-letters.js';
import { createPushOperators } from './push-operators.js';
import { settle } from './push-settle.js';
import { write } from './reads.js';
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
  };
}
