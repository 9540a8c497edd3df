import { nowMs, pause } from '../../world/now.js';
import type { Replica } from '../../world/replica.js';
import type { World } from '../../world/world.js';
import { leaseOf } from './leases.js';

/** What a drain may take beyond its own time. */
const EXIT_SLACK_MS = 5_000;

/** Until a turn has ended its lease is there and renewed, however long the drain takes. */
export async function keepsLeases(
  world: World,
  of: { readonly leaving: Replica; readonly taskIds: readonly string[] },
): Promise<void> {
  const { leaving, taskIds } = of;
  const { ttlMs, heartbeatMs, drainTimeoutMs } = world.settings;
  const untilMs = nowMs() + drainTimeoutMs - 2 * heartbeatMs;
  let leastMs = ttlMs;
  while (nowMs() < untilMs && leaving.alive) {
    for (const taskId of taskIds) {
      const lease = await leaseOf(world, taskId);
      world.expect(lease?.holder === leaving.holder, 'its lease was let go while its turn ran', taskId);
      leastMs = Math.min(leastMs, lease?.remainingMs ?? leastMs);
    }
    await pause(heartbeatMs / 2);
  }
  world.expect(leastMs > 0, 'a lease expired while its turn was drained');
  world.figure('least lease left while draining ms', leastMs);
}

/** The exit code, or null when it takes too long. */
export async function exitOf(
  world: World,
  replica: Replica,
  beganAtMs: number,
): Promise<number | string | null> {
  const limitMs = world.settings.drainTimeoutMs + EXIT_SLACK_MS;
  const late = pause(beganAtMs + limitMs - nowMs()).then(() => null);
  const code = await Promise.race([replica.exited, late]);
  world.expect(code !== null, `${replica.name} was still there ${limitMs} ms after SIGTERM`);
  return code ?? (await Promise.race([replica.exited, pause(2 * limitMs).then(() => null)]));
}
