import { until } from '../../tools/processes.js';
import type { World } from '../../world/world.js';

const REMAINING = {
  postgresql: 'extract(epoch FROM expires_at - clock_timestamp()) * 1000',
  mysql: 'TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(3), expires_at) / 1000',
  sqlite: `expires_at - unixepoch('subsec') * 1000`,
};

const EXPIRES_AT = {
  postgresql: 'extract(epoch FROM expires_at) * 1000',
  mysql: `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', expires_at) / 1000`,
  sqlite: 'expires_at',
};

/** A lease as it stands. */
export interface LeaseNow {
  readonly holder: string;
  readonly epoch: number;
  readonly remainingMs: number;
  /** By the database's clock. */
  readonly expiresAtMs: number;
}

/** The lease of a task; null: there is none. */
export async function leaseOf(world: World, taskId: string): Promise<LeaseNow | null> {
  const { database, provider } = world;
  const [row] = await database.query(
    `SELECT holder, epoch, ${REMAINING[provider]} AS remaining_ms, ${EXPIRES_AT[provider]} AS expires_at_ms
     FROM task_leases WHERE task_id = '${taskId}'`,
  );
  if (row === undefined) return null;
  return {
    holder: String(row['holder']),
    epoch: Number(row['epoch']),
    remainingMs: Number(row['remaining_ms']),
    expiresAtMs: Number(row['expires_at_ms']),
  };
}

/** Resolves once the lease of a task has expired by the database's clock, or is gone. */
export async function leaseExpires(world: World, taskId: string): Promise<void> {
  await until(async () => ((await leaseOf(world, taskId))?.remainingMs ?? 0) <= 0, {
    what: `the lease of ${taskId} expires`,
    withinMs: 2 * world.settings.ttlMs,
  });
}

/** Resolves once the lease of a task is gone. */
export async function leaseGoes(world: World, taskId: string): Promise<void> {
  await until(async () => (await leaseOf(world, taskId)) === null, {
    what: `the lease of ${taskId} goes`,
    withinMs: 2 * world.settings.ttlMs,
  });
}
