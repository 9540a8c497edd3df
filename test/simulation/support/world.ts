import type { Database } from '@a2a-cluster/db';
import type { Faults } from './faults.js';
import type { Random } from '@a2a-cluster/testing';
import type { Owner, Scheduler } from './scheduler.js';
import type { DatabaseClock } from './sim-clock.js';
import type { SimReplica } from './sim-replica.js';
import type { TurnRecord } from './agent.js';
import type { Watch } from './watch.js';

/** A listening connection. */
export interface Listener {
  readonly owner: Owner;
  onHint(taskIds: readonly string[]): void;
  onLost(cause: unknown): void;
}

/** Times of the leases in a run, in milliseconds: the defaults. */
export const LEASE = {
  ttlMs: 15_000,
  heartbeatMs: 5_000,
  marginMs: 1_500,
  renewalTimeoutMs: 3_000,
  sweepIntervalMs: 5_000,
  cancelGraceMs: 10_000,
} as const;

/** The longest blackout a live turn survives (S in protocol 5). */
export const SURVIVED_MS = LEASE.ttlMs - LEASE.marginMs - LEASE.heartbeatMs - LEASE.renewalTimeoutMs;

/** Everything one run is made of. */
export interface World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  /** The rows as they are. */
  readonly base: Database;
  /** What the replicas talk to: the same, or a mutant over it. */
  readonly database: Database;
  readonly databaseClock: DatabaseClock;
  readonly watch: Watch;
  /** Whether the database has LISTEN; else the log is asked at an interval. */
  readonly listens: boolean;
  readonly pollIntervalMs: number;
  readonly listeners: Set<Listener>;
  readonly replicas: SimReplica[];
  readonly turns: TurnRecord[];
  /** What happens to a replica as soon as such a statement of it was executed, before its answer is on its way. */
  readonly traps: { readonly statement: string; spring(replica: SimReplica): void }[];
  /** What keeps a run from coming to rest: faulty statements on their way, boots to come. */
  readonly unrest: { count: number };
  /** Notes that an invariant does not hold. */
  violated(what: string): void;
  /** A value for the trace. */
  show(value: unknown): string;
  /** A line of the trace that is no step. */
  note(what: string): void;
  /** A number that no other event of the run has, so that events can be told apart. */
  serial(): number;
}
