import type { Scenario } from '../scenario.js';
import { startIdleProxy } from '../tools/idle-proxy.js';
import { missingNginx, startNginx } from '../tools/nginx.js';
import { nowMs } from '../world/now.js';
import { stateOf, type Stream } from '../world/stream.js';
import type { World } from '../world/world.js';
import { allEnded } from './support/ended.js';
import { percentile } from './support/numbers.js';

const CLIENTS = 6;
/** What the balancer takes for idle. */
const IDLE_S = 20;
/** What the agent is silent for: longer than one cut and shorter than two. */
const SILENT_MS = 28_000;
const WAY = 'balancer';

/**
 * A load balancer cuts connections that are idle for 20 s, while a turn says nothing for longer. Streams carry no
 * keepalive yet, so they are cut; who subscribes again, on whichever replica the balancer chooses, sees the rest.
 */
export const idleConnections: Scenario = {
  id: 'R22',
  title: 'a load balancer cuts idle connections',
  databases: ['postgresql', 'sqlite'],
  async run(world) {
    const [holder, ...others] = await world.startReplicas(3);
    if (holder === undefined) return;
    const ports = [holder, ...others].map(({ port }) => port);
    const nginx = missingNginx() === null;
    const balancer = await (nginx
      ? startNginx({ ports, idleS: IDLE_S })
      : startIdleProxy({ ports, idleMs: IDLE_S * 1_000 }));
    world.atEnd(() => balancer.remove());
    world.figure('balancer', nginx ? 'nginx' : 'a proxy, for nginx is not installed');
    const client = world.clientBy({ base: balancer.base, name: WAY });
    const caller = holder.as().stream({ text: `tick 3 50; sleep ${SILENT_MS}; tick 20 50; done` });
    const taskId = (await caller.taskId()) ?? '';
    const fault = world.recorder.fault({ kind: 'connections', replica: WAY, detail: `idle for ${IDLE_S} s` });
    const streams = Array.from({ length: CLIENTS }, () => client.subscribe(taskId));
    const ends = await allEnded(world, { streams, turnMs: SILENT_MS });
    fault.end();
    const cut = ends.filter(({ how }) => how === 'broken');
    world.figure('streams cut', cut.length);
    world.figure('cut after idle ms', percentile(streams.map(idleMs), 0.5));
    world.say(cut.length > 0 ? 'they were cut: there is no keepalive yet' : 'a keepalive held them');
    const again = cut.map(() => client.subscribe(taskId));
    await allEnded(world, { streams: [caller, ...again], turnMs: SILENT_MS });
    await world.settled({ withinMs: world.settings.ttlMs });
    const seen = cut.length > 0 ? again : streams;
    for (const { record } of seen) {
      const last = record.frames.at(-1)?.event;
      const whole = record.ended?.how === 'complete' && last && stateOf(last) === 'TASK_STATE_COMPLETED';
      world.expect(
        Boolean(whole),
        `a client that came again did not see the end: ${JSON.stringify(record.ended)}`,
        taskId,
      );
    }
    await holds(world, taskId);
  },
};

/** How long nothing was said on a stream when it ended. */
function idleMs({ record }: Stream): number {
  return (record.ended?.atMs ?? nowMs()) - (record.frames.at(-1)?.atMs ?? record.openedAtMs);
}

/** Cutting those who listen changes nothing of the turn. */
async function holds(world: World, taskId: string): Promise<void> {
  const rows = await world.database.query(`SELECT state FROM tasks WHERE id = '${taskId}'`);
  world.expect(
    rows[0]?.['state'] === 'TASK_STATE_COMPLETED',
    'the turn did not go on without its listeners',
    taskId,
  );
}
