import { sleep, type Clock, type Logger, type Service } from '@a2a-cluster/core';
import type { Database, ReplicaIdentity, ReplicaListing, ReplicaReport } from '@a2a-cluster/db';
import type { BeatReporter } from '@a2a-cluster/lease-store';

/** How long the row of a silent replica stays. */
const FORGET_AFTER_MS = 24 * 60 * 60 * 1_000;

/** So many reports missed, and a replica is taken for dead. */
const MISSED_REPORTS = 3;

/** What the board needs. */
export interface ReplicaBoardOptions {
  readonly database: Pick<Database, 'replicas' | 'provider'>;
  /** Of this replica; its heartbeat is the pace of the board. */
  readonly identity: ReplicaIdentity;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What this replica says of itself now. No I/O. */
  describe(): Pick<ReplicaReport, 'phase' | 'stats'>;
  /** Told at every reading whether an operator wants this replica to take no turns. */
  onPause(requested: boolean): void;
}

/**
 * The replicas among themselves: writes this one's row, reads all, once per heartbeat and in one round trip. That
 * statement is also how readiness learns whether the database answers and takes writes; while leases are held on
 * PostgreSQL, their beats write the row and the board only reads.
 *
 * Nothing of the protocol rests on it: a board that is behind, or wrong, shows wrong figures.
 */
export interface ReplicaBoard extends Service {
  /** Milliseconds since an answered question was sent; null: none yet. */
  ageMs(): number | null;
  /** The last reading, and how long ago it was asked for; no I/O. Null: none yet. */
  known(): { readonly replicas: readonly ReplicaListing[]; readonly ageMs: number | null };
  /**
   * Whether this replica's id is the smallest of those that reported within three of their heartbeats, as far as it
   * knows: for work that one replica should do. No lock: for some seconds two may think so, or none, so the work must
   * be harmless when done twice. False without a fresh reading.
   */
  isFirstAlive(): boolean;
  /** Has the next question asked at once: something changed that others should see. */
  changed(): void;
  /** For the heartbeat. */
  readonly reporter: BeatReporter;
}

/** Makes a board; it asks for the first time at `start`. `close` takes this replica's row away. */
export function createReplicaBoard(options: ReplicaBoardOptions): ReplicaBoard {
  const board = new Board(options);
  return {
    ageMs: () => board.ageMs(),
    known: () => board.known(),
    isFirstAlive: () => board.isFirstAlive(),
    changed: () => board.changed(),
    start: () => board.start(),
    close: () => board.close(),
    reporter: { take: () => board.take(), done: (answered) => board.carried(answered) },
  };
}

class Board {
  private readonly stop = new AbortController();
  private wake = new AbortController();
  private loop: Promise<void> | null = null;
  private startedAtMs = 0;
  private registered = false;
  private away = false;
  private answeredAtMs: number | null = null;
  private reading: { readonly replicas: readonly ReplicaListing[]; readonly atMs: number } | null = null;
  /** Beats may carry a report: the table took the last one. */
  private trusted = false;
  /** A beat has written the row since the last question. */
  private written = false;

  constructor(private readonly options: ReplicaBoardOptions) {}

  ageMs(): number | null {
    return this.answeredAtMs === null ? null : this.options.clock.monotonicMs() - this.answeredAtMs;
  }

  known(): { readonly replicas: readonly ReplicaListing[]; readonly ageMs: number | null } {
    const { reading } = this;
    if (reading === null) return { replicas: [], ageMs: null };
    return { replicas: reading.replicas, ageMs: this.options.clock.monotonicMs() - reading.atMs };
  }

  isFirstAlive(): boolean {
    const { replicaId, heartbeatMs } = this.options.identity;
    const { replicas, ageMs } = this.known();
    if (ageMs === null || ageMs > MISSED_REPORTS * heartbeatMs) return false;
    if (!replicas.some((replica) => replica.replicaId === replicaId)) return false;
    return replicas.every(
      (replica) =>
        replica.replicaId >= replicaId || replica.beatAgeMs + ageMs > MISSED_REPORTS * replica.heartbeatMs,
    );
  }

  changed(): void {
    this.wake.abort();
  }

  take(): ReplicaReport | null {
    if (this.options.database.provider !== 'postgresql' || !this.trusted || this.stop.signal.aborted)
      return null;
    return this.report();
  }

  carried(answered: boolean): void {
    this.written = answered;
    if (!answered) this.trusted = false;
  }

  async start(): Promise<void> {
    if (this.loop !== null || this.stop.signal.aborted) return;
    this.startedAtMs = this.options.clock.monotonicMs();
    this.loop = this.ask().then(() => this.run());
    await Promise.resolve();
  }

  async close(): Promise<void> {
    const first = !this.stop.signal.aborted;
    this.stop.abort();
    this.wake.abort();
    await this.loop;
    if (first && this.loop !== null) await this.atMost(this.leave(), new AbortController());
  }

  private async run(): Promise<void> {
    while (!this.stop.signal.aborted) {
      await this.pause();
      if (!this.stop.signal.aborted) await this.ask();
    }
  }

  private async pause(): Promise<void> {
    const { clock, identity } = this.options;
    await sleep({ clock, delayMs: identity.heartbeatMs, signal: this.wake.signal });
    if (!this.stop.signal.aborted && this.wake.signal.aborted) this.wake = new AbortController();
  }

  /** A question that hangs keeps neither the next one nor a close from coming. */
  private ask(): Promise<void> {
    const done = new AbortController();
    const end = (): void => done.abort();
    this.stop.signal.addEventListener('abort', end, { once: true });
    return this.atMost(this.question(), done).finally(() =>
      this.stop.signal.removeEventListener('abort', end),
    );
  }

  private async atMost(work: Promise<void>, done: AbortController): Promise<void> {
    const { clock, identity } = this.options;
    await Promise.race([work, sleep({ clock, delayMs: identity.heartbeatMs, signal: done.signal })]);
    done.abort();
  }

  private async question(): Promise<void> {
    const { clock, logger } = this.options;
    const sentAtMs = clock.monotonicMs();
    try {
      const replicas = await this.exchange();
      this.answeredAtMs = Math.max(this.answeredAtMs ?? 0, sentAtMs);
      if (this.away) logger.info({}, 'the database answers again');
      this.away = false;
      this.learn(replicas, sentAtMs);
      await this.forget(replicas);
    } catch (error) {
      if (!this.away && !this.stop.signal.aborted)
        logger.warn({ err: error }, 'the database does not answer, or takes no writes');
      this.away = true;
    }
  }

  /** Writes the row unless a beat has done it, and reads all. A row that was forgotten or deleted is written anew. */
  private async exchange(): Promise<readonly ReplicaListing[]> {
    const { replicas } = this.options.database;
    const { written } = this;
    this.written = false;
    if (!this.registered) await this.register();
    else {
      const read = await (written ? replicas.list() : replicas.report(this.report()));
      this.trusted = true;
      const { replicaId } = this.options.identity;
      if (read.some((replica) => replica.replicaId === replicaId) || this.stop.signal.aborted) return read;
      await this.register();
    }
    return replicas.list();
  }

  private async register(): Promise<void> {
    const { database, identity, clock } = this.options;
    const upMs = clock.monotonicMs() - this.startedAtMs;
    await database.replicas.register({ ...identity, ...this.report(), upMs });
    this.registered = true;
    this.trusted = true;
  }

  private report(): ReplicaReport {
    const { phase, stats } = this.options.describe();
    return { replicaId: this.options.identity.replicaId, phase, stats };
  }

  private learn(replicas: readonly ReplicaListing[], atMs: number): void {
    // An answer that was overtaken by a later one is old news.
    if (this.stop.signal.aborted || (this.reading !== null && atMs < this.reading.atMs)) return;
    this.reading = { replicas, atMs };
    const { identity, describe, onPause } = this.options;
    const own = replicas.find((replica) => replica.replicaId === identity.replicaId);
    if (own === undefined) return;
    const before = describe().phase;
    onPause(own.pauseRequested);
    if (describe().phase !== before) this.changed();
  }

  /** Costs nothing while nobody has been silent for so long. */
  private async forget(replicas: readonly ReplicaListing[]): Promise<void> {
    const silent = replicas.some((replica) => replica.beatAgeMs > FORGET_AFTER_MS);
    if (silent && !this.stop.signal.aborted && this.isFirstAlive())
      await this.options.database.replicas.forget(FORGET_AFTER_MS);
  }

  private async leave(): Promise<void> {
    const { database, identity, logger } = this.options;
    try {
      await database.replicas.remove(identity.replicaId);
    } catch (error) {
      logger.warn({ err: error }, 'the row of this replica stays until it is forgotten');
    }
  }
}
