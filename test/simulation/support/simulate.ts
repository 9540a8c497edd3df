import { createHash } from 'node:crypto';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { Clients } from './client.js';
import { FAULT_KINDS, Faults, type FaultKind } from './faults.js';
import { checkRows } from './invariants.js';
import { ACTIVE_MS, plan, restore } from './plan.js';
import { Random } from '@a2a-cluster/testing';
import { Scheduler } from './scheduler.js';
import { createDatabaseClock } from './sim-clock.js';
import { boot, close } from './sim-replica.js';
import { Trace } from './trace.js';
import { Watch } from './watch.js';
import { LEASE, type World } from './world.js';

/** What one run is to be. */
export interface Simulation {
  readonly seed: number;
  /** Keeps the trace; costs more than the run itself. */
  readonly traced?: boolean;
  /** Puts defects between the replicas and the rows. */
  readonly mutate?: (base: Database) => Database;
  /** These kinds of faults and no others, in place of the seed's choice. */
  readonly kinds?: readonly FaultKind[];
  /** How often a statement goes wrong, in place of the seed's choice. */
  readonly faultRate?: number;
  /** How often the log is asked without a hint, in place of the seed's choice. */
  readonly pollIntervalMs?: number;
}

/** What came of a run. */
export interface Outcome {
  readonly seed: number;
  /** In the order in which they were found; none is what is wanted. */
  readonly violations: readonly string[];
  readonly kinds: readonly FaultKind[];
  readonly steps: number;
  readonly tasks: number;
  readonly events: number;
  /** Empty unless it was traced. */
  readonly trace: readonly string[];
  readonly hash: string;
}

/** How long everything may take to come to rest after the last fault: a dead turn, behind a quiet period. */
const SETTLE_MS = 4 * LEASE.ttlMs + 30_000;

/** How long it is looked whether it stays at rest, where the log is asked seldom. */
const LONGEST_REST_MS = 5_000;

/** How long a close may take. */
const CLOSE_MS = 60_000;

/** One run: everything in it follows from the seed. Not to be run beside another one, it takes `Math.random`. */
export async function simulate(simulation: Simulation): Promise<Outcome> {
  const random = new Random(simulation.seed);
  const original = Math.random;
  // Faults are errors, thousands of them, and nobody looks at their stacks.
  const { stackTraceLimit } = Error;
  if (!simulation.traced) Error.stackTraceLimit = 0;
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  Math.random = () => random.next();
  process.on('unhandledRejection', onUnhandled);
  try {
    const run = new Run(simulation, random);
    await run.play();
    for (const reason of unhandled) run.violated(`I12 an unhandled rejection: ${String(reason)}`);
    return run.outcome();
  } finally {
    process.off('unhandledRejection', onUnhandled);
    Math.random = original;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

class Run {
  private readonly violations: string[] = [];
  private readonly trace: Trace | null;
  private readonly kinds: readonly FaultKind[];
  private readonly world: World;
  private readonly clients: Clients;

  constructor(
    private readonly simulation: Simulation,
    random: Random,
  ) {
    const { seed, traced, mutate } = simulation;
    this.kinds = simulation.kinds ?? drawKinds(random);
    const scheduler = new Scheduler(random);
    const databaseClock = createDatabaseClock(scheduler);
    const base = createMemoryDatabase({ clock: databaseClock });
    this.trace = traced ? new Trace(scheduler) : null;
    let serial = 0;
    const world: Omit<World, 'watch'> = {
      ...{ random, scheduler, databaseClock, base },
      database: mutate ? mutate(base) : base,
      faults: new Faults(random, new Set(this.kinds), simulation.faultRate ?? random.pick([0.01, 0.05, 0.2])),
      listens: random.chance(0.6),
      pollIntervalMs: simulation.pollIntervalMs ?? random.pick([500, 1_000, 2_000, 2_000]),
      listeners: new Set(),
      replicas: [],
      turns: [],
      traps: [],
      unrest: { count: 0 },
      violated: (what) => this.violated(what),
      show: (value) => this.trace?.show(value) ?? '',
      note: (what) => this.trace?.add(what),
      serial: () => (serial += 1),
    };
    this.world = Object.assign(world, { watch: new Watch(world as World) });
    this.clients = new Clients(this.world);
    scheduler.onTime = () => this.world.watch.trust.timeHasMoved();
    if (this.trace) scheduler.onStep = (step) => this.trace?.add(step.what());
    this.trace?.add(`seed ${seed}, faults: ${this.kinds.join()}`);
  }

  violated(what: string): void {
    this.trace?.add(`VIOLATED ${what}`);
    this.violations.push(`${Math.round(this.world.scheduler.nowMs)} ms: ${what}`);
  }

  async play(): Promise<void> {
    const { world, clients } = this;
    const { scheduler, random } = world;
    for (let left = random.int(2, 3); left > 0; left -= 1) boot(world);
    plan(world, clients);
    await scheduler.run(ACTIVE_MS, () => this.violations.length > 0);
    if (this.violations.length > 0) return;
    world.note('no more faults');
    restore(world);
    if (!(await this.settle())) return;
    world.note('at rest');
    clients.settled();
    await checkRows(world);
    await this.closeAll();
  }

  /** Goes on until everything is at rest, and still is when what was on its way has arrived. */
  private async settle(): Promise<boolean> {
    const { scheduler, pollIntervalMs } = this.world;
    const failed = (): boolean => this.violations.length > 0;
    for (const untilMs = ACTIVE_MS + SETTLE_MS; scheduler.nowMs < untilMs;) {
      await scheduler.run(untilMs, () => failed() || this.isAtRest());
      if (failed()) return false;
      const restedMs = scheduler.nowMs + Math.min(2 * pollIntervalMs + 200, LONGEST_REST_MS);
      // All the while: a turn that came and went in between may not have been told everywhere.
      await scheduler.run(restedMs, () => failed() || !this.isAtRest());
      if (failed()) return false;
      if (this.isAtRest()) return true;
    }
    this.clients.settled();
    this.violated('I12 it never came to rest');
    return false;
  }

  outcome(): Outcome {
    const { scheduler, watch } = this.world;
    const trace = this.trace?.lines ?? [];
    return {
      seed: this.simulation.seed,
      violations: this.violations,
      kinds: this.kinds,
      steps: scheduler.steps,
      tasks: watch.tasks.size,
      events: [...watch.tasks.values()].reduce((sum, task) => sum + task.rows.length, 0),
      trace,
      hash: createHash('sha256').update(trace.join('\n')).digest('hex'),
    };
  }

  /** No turn runs, no lease is left, nobody boots, and nobody waits but for a next turn. */
  private isAtRest(): boolean {
    const { replicas, turns, watch, unrest } = this.world;
    if (unrest.count > 0 || this.clients.waiting) return false;
    if (replicas.some(({ state }) => state === 'starting' || state === 'closing')) return false;
    if (turns.some(({ replica, returned }) => replica.state !== 'killed' && !returned)) return false;
    if (replicas.some(({ state, cluster }) => state === 'running' && cluster?.requestHandler.runningTurns))
      return false;
    return [...watch.tasks.values()].every(({ lease }) => lease === null);
  }

  private async closeAll(): Promise<void> {
    const { scheduler, replicas } = this.world;
    for (const replica of replicas) close(this.world, replica);
    const closed = (): boolean => replicas.every(({ state }) => state === 'closed' || state === 'killed');
    await scheduler.run(scheduler.nowMs + CLOSE_MS, closed);
    for (const { name, state } of replicas) {
      if (state !== 'closed' && state !== 'killed') this.violated(`I12 ${name} is still ${state}`);
      const timers = scheduler.timersOf(name);
      if (timers > 0) this.violated(`I12 ${name} is ${state} and has ${timers} timers`);
    }
  }
}

/** None, one kind alone, or several: strict promises hold only where little goes wrong. */
function drawKinds(random: Random): FaultKind[] {
  const kind = random.int(0, 9);
  if (kind === 0) return [];
  if (kind <= 3) return [random.pick(FAULT_KINDS)];
  return FAULT_KINDS.filter(() => random.chance(kind <= 7 ? 0.3 : 0.7));
}
