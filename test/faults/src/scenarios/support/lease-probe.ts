import { randomUUID } from 'node:crypto';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { nowMs, pause } from '../../world/now.js';
import type { World } from '../../world/world.js';

const HOLDER = 'probe';
const SWEEP_LIMIT = 500;

/** How long statements took, in milliseconds. */
export interface Latencies {
  readonly renew: readonly number[];
  readonly sweep: readonly number[];
}

/**
 * Renews leases of its own and sweeps, with the statements of the product and a clock in hand. Its tasks are removed
 * before the history is read.
 */
export class LeaseProbe {
  private constructor(
    private readonly world: World,
    private readonly product: Database,
    private readonly taskIds: readonly string[],
  ) {}

  /** Makes so many leases. */
  static async open(world: World, leases: number): Promise<LeaseProbe> {
    const product = await createDatabase({ url: world.database.url, ttlMs: world.settings.ttlMs });
    world.atEnd(() => product.close());
    const taskIds = Array.from({ length: leases }, () => `probe-${randomUUID()}`);
    for (const taskId of taskIds) {
      await product.journal.createTask({
        ...{ taskId, scope: { tenant: '', owner: HOLDER }, contextId: taskId },
        ...{ holder: HOLDER, ttlMs: world.settings.ttlMs * 100, state: 'TASK_STATE_WORKING' },
        ...{ statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
        events: [{ kind: 'task', writeId: randomUUID(), payload: '{}' }],
      });
    }
    return new LeaseProbe(world, product, taskIds);
  }

  /** Measures for so long, at the pace of the heartbeat. */
  async measure(forMs: number): Promise<Latencies> {
    const { settings } = this.world;
    const until = nowMs() + forMs;
    const renew: number[] = [];
    const sweep: number[] = [];
    while (nowMs() < until) {
      renew.push(await timed(() => this.renew()));
      sweep.push(await timed(() => this.sweep()));
      await pause(settings.heartbeatMs);
    }
    return { renew, sweep };
  }

  /** Removes what it made. */
  async close(): Promise<void> {
    const ids = this.taskIds.map((taskId) => `'${taskId}'`).join();
    for (const [table, column] of [
      ['task_leases', 'task_id'],
      ['task_events', 'task_id'],
      ['task_snapshots', 'task_id'],
      ['tasks', 'id'],
    ])
      await this.world.database.query(`DELETE FROM ${table} WHERE ${column} IN (${ids})`);
  }

  private async renew(): Promise<void> {
    const ttlMs = this.world.settings.ttlMs * 100;
    const leases = this.taskIds.map((taskId) => ({ taskId, epoch: 1 }));
    const renewed = await this.product.leases.beat({ holder: HOLDER, ttlMs, leases });
    if (renewed.length !== leases.length) throw new Error(`${renewed.length} of ${leases.length} renewed`);
  }

  private async sweep(): Promise<void> {
    await this.product.journal.sweep({
      ...{ limit: SWEEP_LIMIT, sweeper: HOLDER, statusTimestamp: new Date().toISOString(), text: 'probe' },
    });
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const beganAtMs = nowMs();
  await work();
  return nowMs() - beganAtMs;
}
