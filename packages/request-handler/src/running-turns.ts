import { setMaxListeners } from 'node:events';
import type { AgentExecutor, RequestContext } from '@a2a-js/sdk/server';
import { sleep, type Clock } from '@a2a-cluster/core';
import { checkParts } from './check-parts.js';
import { OwnerPlaces, type Caller } from './owner-places.js';
import { replicaDraining, tooManyTurns } from './refusals.js';
import { RunningTurn } from './running-turn.js';
import type { TurnParts, TurnSpec } from './turn-spec.js';

/** A place for one turn, taken before anything of it is written. */
export interface TurnPlace {
  /** Makes the turn; the place is given back when its executor has returned. */
  begin(spec: Omit<TurnSpec, 'onOver'>): RunningTurn;
  /** Gives the place back when no turn came of it. Idempotent. */
  free(): void;
}

/** Options of {@link RunningTurns.close}. */
export interface CloseTurns {
  /** How long running turns may go on. */
  readonly drainTimeoutMs: number;
  /** Whether the rest is ended FAILED; else it is left to another replica's sweeper. */
  readonly fail: boolean;
  /** How long the endings may take to be written and told. */
  readonly writeTimeoutMs: number;
}

const NEEDED = [
  ...(['journal', 'stream', 'heartbeat', 'clock', 'logger', 'holder', 'ttlMs', 'options', 'newId'] as const),
];

/** The turns of this replica: admission, look-up, and their end when the replica closes (protocol 10). */
export class RunningTurns {
  private readonly turns = new Set<RunningTurn>();
  /** Places taken: turns whose executor has not returned, and openings on their way. */
  private places = 0;
  private opening = 0;
  private draining = false;
  private paused = false;
  /** No turn begins any more, also none whose opening was on its way. */
  private ended = false;
  private readonly closing = new AbortController();
  /** Requests that wait for the end of a turn. */
  private followers = 0;
  private readonly idleWaiters: (() => void)[] = [];
  private readonly owners: OwnerPlaces;
  private readonly placeOf = new WeakMap<RunningTurn, () => void>();

  /** @throws ClusterError `CONFIG_INVALID` naming the parts that are missing. */
  constructor(private readonly parts: TurnParts) {
    checkParts('the turns of a replica', parts, NEEDED);
    this.owners = new OwnerPlaces(parts.options.maxTurnsPerOwner);
    // Every call that waits listens, and a replica answers many at a time: that is no leak to warn of.
    setMaxListeners(0, this.closing.signal);
  }

  /** Turns that may still write. */
  get count(): number {
    return this.turns.size;
  }

  /** Aborts when the replica has closed: whatever still waits then is to stop waiting. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Whether new turns are refused, for good or until they are not any more. */
  get isDraining(): boolean {
    return this.draining || this.paused;
  }

  /** Refuses new turns, as a drain does, or takes them again; running ones go on. A drain is not undone by it. */
  pause(on: boolean): void {
    this.paused = on;
  }

  /** The turn of that task that may still write, if it runs here. */
  find(taskId: string): RunningTurn | undefined {
    for (const turn of this.turns) if (turn.taskId === taskId) return turn;
    return undefined;
  }

  /** @throws A2AError with reason `REPLICA_DRAINING` or `TOO_MANY_TURNS`. */
  admit(caller: Caller): TurnPlace {
    const { options } = this.parts;
    const giveBack = this.takePlace(caller);
    this.opening++;
    let open = true;
    const opened = (): boolean => {
      if (!open) return false;
      open = false;
      this.opening--;
      return true;
    };
    return {
      begin: (spec) => {
        // The opening took longer than the drain: what it wrote is for another replica's sweeper to end.
        if (this.ended) throw replicaDraining(options.heartbeatMs);
        opened();
        const turn: RunningTurn = new RunningTurn(this.parts, {
          ...spec,
          onOver: () => this.turns.delete(turn),
        });
        this.turns.add(turn);
        this.placeOf.set(turn, giveBack);
        return turn;
      },
      free: () => {
        if (opened()) giveBack();
      },
    };
  }

  private takePlace(caller: Caller): () => void {
    const { heartbeatMs: retryAfterMs, maxConcurrentTurns } = this.parts.options;
    if (this.isDraining) throw replicaDraining(retryAfterMs);
    if (this.places >= maxConcurrentTurns) throw tooManyTurns({ scope: 'replica', retryAfterMs });
    const giveBack = this.owners.take(caller);
    if (giveBack === null) throw tooManyTurns({ scope: 'owner', retryAfterMs });
    this.places++;
    return () => {
      this.places--;
      giveBack();
    };
  }

  /** Runs a turn's executor; its place is free again when that has returned. */
  run(turn: RunningTurn, run: { readonly executor: AgentExecutor; readonly context: RequestContext }): void {
    this.settle(turn, turn.run(run.executor, run.context));
  }

  /** Ends a turn whose executor could not be started. */
  fail(turn: RunningTurn, error: unknown): void {
    this.settle(turn, turn.fail(error));
  }

  private settle(turn: RunningTurn, ended: Promise<void>): void {
    void ended
      .catch((error: unknown) => {
        this.parts.logger.error({ err: error, taskId: turn.taskId }, 'a turn ended by a fault of ours');
        turn.lose('a fault of ours');
      })
      .finally(() => this.placeOf.get(turn)?.());
  }

  /** Notes that a request waits for the end of a turn, here or elsewhere; call what it gives when its client has had the end. */
  follow(): () => void {
    this.followers++;
    let following = true;
    return () => {
      if (!following) return;
      following = false;
      this.followers--;
      if (this.followers === 0) for (const waiter of this.idleWaiters.splice(0)) waiter();
    };
  }

  /** Refuses new turns from now on. */
  drain(): void {
    this.draining = true;
  }

  /** Waits for the turns, ends the rest, and lets their callers have the end. Bounded by the two times given. */
  async close(close: CloseTurns): Promise<void> {
    this.drain();
    await this.waitUntilIdle(close.drainTimeoutMs);
    this.ended = true;
    const endings = [...this.turns].map((turn) => turn.shutdown({ fail: close.fail }));
    const ended = Promise.allSettled(endings);
    await within({
      clock: this.parts.clock,
      limitMs: close.writeTimeoutMs,
      work: close.fail || endings.length === 0 ? ended.then(() => this.unfollowed()) : ended,
    });
    for (const turn of [...this.turns]) turn.lose('the replica closed before its end could be written');
    this.closing.abort();
  }

  private unfollowed(): Promise<void> {
    if (this.followers === 0) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  private async waitUntilIdle(limitMs: number): Promise<void> {
    const { clock } = this.parts;
    const deadline = clock.monotonicMs() + limitMs;
    while (this.turns.size > 0 || this.opening > 0) {
      const restMs = deadline - clock.monotonicMs();
      if (restMs <= 0) return;
      const work =
        this.turns.size > 0
          ? Promise.all([...this.turns].map((turn) => turn.over))
          : sleep({ clock, delayMs: 10 });
      await within({ clock, limitMs: restMs, work });
    }
  }
}

async function within(options: {
  readonly clock: Clock;
  readonly limitMs: number;
  readonly work: Promise<unknown>;
}): Promise<void> {
  const stop = new AbortController();
  const limit = sleep({ clock: options.clock, delayMs: options.limitMs, signal: stop.signal });
  await Promise.race([options.work, limit]);
  stop.abort();
}
