import type { Database } from '../../world/tables.js';

/** What an operator's release writes first, on each database. */
const EXPIRED = {
  postgresql: `least(expires_at, clock_timestamp() - interval '2 ms')`,
  mysql: 'LEAST(expires_at, SYSDATE(3) - INTERVAL 1000 MICROSECOND)',
  sqlite: `min(expires_at, CAST(unixepoch('subsec') * 1000 AS INTEGER) - 2)`,
};

/** Lets the lease of a task expire at once, whoever holds it; a task without one is left as it is. */
export async function expireLease(database: Database, taskId: string): Promise<void> {
  const expiresAt = EXPIRED[database.provider];
  await database.query(`UPDATE task_leases SET expires_at = ${expiresAt} WHERE task_id = '${taskId}'`);
}
