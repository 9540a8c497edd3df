import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import { createDatabase, type Database, type LeaseStatements } from '@a2a-cluster/db';
import { createHeartbeat, resolveLeaseOptions } from '@a2a-cluster/lease-store';
import type { BenchContext } from '../../benchmark.js';

/** A replica that holds leases: the product's own statements and heartbeat. */
export interface HeldLeases {
  readonly holder: string;
  readonly taskIds: readonly string[];
  readonly database: Database;
  /** One beat, for all of them. Rejects unless all that are not `locked` were renewed. */
  beat(expected?: { readonly locked: number }): Promise<void>;
  close(): Promise<void>;
}

/** So long that no lease is lost between two rounds, however slow a baseline is. */
export const TTL_MS = 3_600_000;

/** Turns that are opened at a time, each on a connection of its own. */
const AT_A_TIME = 8;

/** Opens `count` turns as a replica does, by `createTask`, and holds their leases. */
export async function holdLeases(options: {
  readonly context: Pick<BenchContext, 'cleanUp'>;
  readonly url: string;
  readonly holder: string;
  readonly count: number;
  readonly atATime?: number;
  /** Stands in front of the statements of the heartbeat. */
  readonly wrap?: (leases: LeaseStatements) => LeaseStatements;
}): Promise<HeldLeases> {
  const { context, url, holder, count, atATime = AT_A_TIME, wrap = (leases) => leases } = options;
  const clock = createSystemClock();
  const logger = createSilentLogger();
  const database = await createDatabase({ url, ttlMs: TTL_MS, logger, poolSize: atATime });
  const lease = resolveLeaseOptions({ ttlMs: TTL_MS });
  const heartbeat = createHeartbeat({ leases: wrap(database.leases), holder, options: lease, clock, logger });
  const closing = { done: null as Promise<void> | null };
  const close = (): Promise<void> => (closing.done ??= heartbeat.close().then(() => database.close()));
  context.cleanUp(close);
  const taskIds = Array.from({ length: count }, (_, at) => `${holder}-${String(at).padStart(6, '0')}`);
  const hold = async (taskId: string): Promise<void> => {
    const sentAtMs = clock.monotonicMs();
    await openTurn(database, { taskId, holder });
    const onLost = (cause: string): void => logger.error({ taskId, cause }, 'lost');
    heartbeat.hold({ lease: { taskId, epoch: 1 }, sentAtMs, onLost, onCancelRequested: () => {} });
  };
  for (let from = 0; from < count; from += atATime)
    await Promise.all(taskIds.slice(from, from + atATime).map(hold));
  const beat = async ({ locked } = { locked: 0 }): Promise<void> => {
    const { renewed, failed } = await heartbeat.runOnce();
    if (failed || renewed !== count - locked) throw new Error(`${renewed} of ${count} leases were renewed`);
  };
  return { holder, taskIds, database, beat, close };
}

async function openTurn(
  database: Database,
  { taskId, holder }: { readonly taskId: string; readonly holder: string },
): Promise<void> {
  const created = await database.journal.createTask({
    taskId,
    holder,
    ttlMs: TTL_MS,
    scope: { tenant: '', owner: 'bench' },
    contextId: `context-${taskId}`,
    state: 'TASK_STATE_WORKING',
    statusTimestamp: '2026-01-01T00:00:00.000Z',
    terminal: false,
    clearsPending: true,
    snapshot: null,
    events: [{ kind: 'task', payload: '{}', writeId: `create-${taskId}` }],
  });
  if (!created.ok) throw new Error(`${taskId} exists`);
}
