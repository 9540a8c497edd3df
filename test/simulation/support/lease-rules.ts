import { WORLD } from './scheduler.js';
import type { SimReplica } from './sim-replica.js';
import type { WatchedTask } from './watch.js';
import { LEASE, type World } from './world.js';

/** Beside the times of the protocol: statements take some. */
const SLACK_MS = 100;

/** The replica behind a holder in the tables. */
export function replicaOf(world: World, holder: string): SimReplica | undefined {
  const name = holder.split('-')[0];
  return world.replicas.find((replica) => replica.name === name);
}

/** A lease was swept: was it dead, was it dead for long, and did its holder give cause? (I6) */
export function checkSwept(
  world: World,
  task: WatchedTask,
  swept: {
    readonly holder: string;
    readonly epoch: number;
    readonly failed: boolean;
    readonly sweeper: string;
  },
): void {
  const { lease, taskId } = task;
  const { faults, scheduler } = world;
  if (lease?.holder !== swept.holder || lease.epoch !== swept.epoch)
    return world.violated(`I6 swept a lease that was not there (task ${taskId})`);
  const lateMs = scheduler.nowMs - lease.expiresAtMs;
  if (swept.failed) checkStep(world, task, swept.sweeper);
  if (faults.kindsHave('step')) return;
  if (lateMs < 0) world.violated(`I6 swept ${-lateMs} ms before the lease expired (task ${taskId})`);
  checkPrompt(world, task, lease.expiresAtMs);
  if (swept.failed && isHealthy(world, lease.holder))
    world.violated(`I6 the turn of a live holder was swept (task ${taskId})`);
}

/** Where nothing but replicas failed, a dead turn is ended by TTL + 1 s. */
function checkPrompt(world: World, task: WatchedTask, expiresAtMs: number): void {
  if (!world.faults.only('kill', 'hints', 'close')) return;
  const sweepersSinceMs = Math.min(
    ...world.replicas.filter(({ state }) => state === 'running').map((replica) => replica.runningSinceMs),
  );
  // A fresh sweeper takes its baseline first.
  const dueMs = Math.max(expiresAtMs, sweepersSinceMs + 1_000) + 1_000 + SLACK_MS;
  if (world.scheduler.nowMs > dueMs)
    world.violated(`I6 swept ${world.scheduler.nowMs - dueMs} ms late (task ${task.taskId})`);
}

/**
 * A step of the database's clock kills nobody who is well (protocol 2), unless it comes between the sweeper's reading
 * and its sweep, or again before the first one is forgotten.
 */
function checkStep(world: World, { lease, taskId }: WatchedTask, sweeper: string): void {
  const { faults, databaseClock, watch } = world;
  const [stepAtMs, second] = databaseClock.stepsAtMs;
  if (!faults.only('step', 'hints') || stepAtMs === undefined || second !== undefined) return;
  if ((watch.clockReadAtMs.get(sweeper) ?? 0) <= stepAtMs) return;
  if (lease && replicaOf(world, lease.holder)?.state === 'running')
    world.violated(`I6 the clock stepped and the turn of a live holder was swept (task ${taskId})`);
}

/** A holder that nothing happened to that a turn does not survive. */
function isHealthy(world: World, holder: string): boolean {
  const replica = replicaOf(world, holder);
  return replica?.state === 'running' && world.faults.only('kill', 'hints', 'close');
}

/** A cancel was marked: the signal must fire within a heartbeat and a second (I9), where beats come through. */
export function checkMarked(world: World, mark: { readonly taskId: string; readonly epoch: number }): void {
  if (!world.faults.only('kill', 'hints', 'close')) return;
  world.scheduler.after(LEASE.heartbeatMs + 1_000 + SLACK_MS, {
    owner: WORLD,
    what: () => 'has the cancel been heard?',
    run: () => {
      // A turn that has ended by itself has nothing to hear, however long its agent goes on.
      if (world.watch.tasks.get(mark.taskId)?.lease?.epoch !== mark.epoch) return;
      const deaf = world.turns.find((turn) => isRunning(turn.replica) && runs(turn, mark));
      if (deaf) world.violated(`I9 a cancel was not heard in time (task ${mark.taskId})`);
    },
  });
}

function runs(
  turn: World['turns'][number],
  of: { readonly taskId: string; readonly epoch: number },
): boolean {
  const { taskId, handle, returned } = turn;
  return taskId === of.taskId && handle.epoch === of.epoch && !returned && !handle.signal.aborted;
}

function isRunning(replica: SimReplica): boolean {
  return replica.state === 'running' || replica.state === 'closing';
}

/** A lease that has expired, and whose holder has yet to be found stopped. */
interface Suspect {
  readonly taskId: string;
  readonly epoch: number;
  readonly replica: SimReplica;
}

/** The signal of a lost lease fires before the lease expires, or as soon as the process runs again (I7). */
export class TrustCheck {
  private readonly seen = new Set<string>();
  private suspects: Suspect[] = [];

  constructor(private readonly world: World) {}

  /** To be called when time has moved. */
  timeHasMoved(): void {
    if (this.world.faults.kindsHave('step')) return;
    const { scheduler, watch } = this.world;
    for (const { taskId, lease } of watch.tasks.values())
      if (lease && lease.expiresAtMs <= scheduler.nowMs) this.suspect(taskId, lease);
    this.suspects = this.suspects.filter((suspect) => !this.isJudged(suspect));
  }

  private suspect(taskId: string, lease: { readonly holder: string; readonly epoch: number }): void {
    const key = `${taskId} ${lease.epoch}`;
    const replica = replicaOf(this.world, lease.holder);
    if (replica === undefined || this.seen.has(key)) return;
    this.seen.add(key);
    this.suspects.push({ taskId, epoch: lease.epoch, replica });
  }

  private isJudged({ taskId, epoch, replica }: Suspect): boolean {
    const { scheduler, turns } = this.world;
    if (!isRunning(replica)) return true;
    if (scheduler.isHeld(replica.name) || replica.resumedAtMs === scheduler.nowMs) return false;
    if (turns.some((turn) => turn.replica === replica && runs(turn, { taskId, epoch })))
      this.world.violated(`I7 the lease had expired and the signal had not fired (task ${taskId})`);
    return true;
  }
}
