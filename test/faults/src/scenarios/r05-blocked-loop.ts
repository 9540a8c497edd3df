import type { Scenario } from '../scenario.js';
import type { LoadTask } from '../world/load.js';
import { nowMs } from '../world/now.js';
import type { Replica } from '../world/replica.js';
import { textOf } from './support/latency.js';
import { outcomeOf } from './support/outcome.js';
import { toldAfterMs } from './support/signals.js';
import type { World } from '../world/world.js';

/** What the blocking agent says, and how long after that it blocks. */
const LEAD = { text: 'tick 2/2', ms: 200 };

/** An agent keeps the event loop of its replica busy, for shorter and for longer than a lease survives. */
export const blockedLoop: Scenario = {
  id: 'R5',
  title: 'an agent blocks the event loop of its replica',
  databases: ['postgresql', 'mysql', 'sqlite'],
  async run(world) {
    const { survivableMs, ttlMs } = world.settings;
    const [watcher, short, long, longer] = await world.startReplicas(4);
    if (!watcher || !short || !long || !longer) return;
    await Promise.all([
      blocks(world, { holder: short, watcher, blockMs: 0.8 * survivableMs, survives: true }),
      blocks(world, { holder: long, watcher, blockMs: 1.1 * ttlMs, survives: false }),
      blocks(world, { holder: longer, watcher, blockMs: 2 * ttlMs, survives: false }),
    ]);
    await world.settled({ withinMs: world.settings.ttlMs + 1_000 });
  },
};

interface Block {
  readonly holder: Replica;
  readonly watcher: Replica;
  readonly blockMs: number;
  readonly survives: boolean;
}

async function blocks(world: World, block: Block): Promise<void> {
  const { holder, watcher, survives } = block;
  const blockMs = Math.round(block.blockMs);
  const others = await world.load({
    tasks: world.quick ? 4 : 8,
    script: survives ? 'tick 100 50; done' : 'zombie 20 25; tick 2000 50',
    holders: [holder],
    watchers: [watcher],
  });
  const [busy] = await world.load({
    tasks: 1,
    script: `tick 2 ${LEAD.ms}; block ${blockMs}; done`,
    holders: [holder],
    watchers: [watcher],
  });
  if (busy === undefined) return world.expect(false, 'the blocking turn did not begin');
  await busy.subscriber.find((event) => textOf(event) === LEAD.text);
  const fault = holder.fault('blocked', `an agent blocks for ${blockMs} ms`);
  const endsAtMs = nowMs() + LEAD.ms + blockMs;
  await loopTurns(holder, endsAtMs);
  fault.end();
  const freeAtMs = nowMs();
  const tasks = [...others, busy];
  await Promise.all(tasks.map(({ ended }) => ended));
  const { completed, failed } = await outcomeOf(world, tasks);
  if (survives)
    return world.expect(
      completed === tasks.length,
      `${failed} turns were lost by ${blockMs} ms without a loop`,
    );
  // The agent that blocks has ended its turn by itself, as far as it can tell.
  world.expect(failed === tasks.length, `${completed} turns outlived ${blockMs} ms without a loop`);
  expectCause(world, { holder, tasks });
  world.figure(
    `signal after a block of ${blockMs} ms, ms max`,
    Math.max(0, ...toldAfterMs(others, freeAtMs)),
  );
}

/** Resolves once the replica answers anything at all, after the moment the block should be over. */
async function loopTurns(holder: Replica, endsAtMs: number): Promise<void> {
  for (;;) {
    const health = await holder.health();
    if (health !== null && nowMs() >= endsAtMs - LEAD.ms) return;
  }
}

/** The log of the holder names the cause: its leases ran out while its event loop was blocked. */
function expectCause(
  world: World,
  { holder, tasks }: { readonly holder: Replica; readonly tasks: readonly LoadTask[] },
): void {
  for (const { taskId } of tasks) {
    const line = holder.logs.find((each) => each.taskId === taskId && each.msg === 'lease lost');
    const why = line?.fields['why'];
    world.expect(
      String(why).includes('event loop was blocked'),
      `${holder.name} gives another cause for the loss: ${JSON.stringify(line?.fields)}`,
      taskId,
    );
  }
}
