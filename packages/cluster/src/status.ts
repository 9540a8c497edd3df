import type { EventStreamStatus } from '@a2a-cluster/event-stream';
import type { PushDeliveryStatus } from '@a2a-cluster/push-notifications';

/** What a replica says of itself. */
export interface ClusterStatus {
  /** Whether new work may be sent here. */
  readonly ready: boolean;
  /** Why not; empty when ready. */
  readonly reasons: readonly string[];
  /** The holder in the tables: `<replicaId>-<boot>`, another one at every start. */
  readonly replicaId: string;
  /** Whether an operator had it stop taking turns. */
  readonly paused: boolean;
  /** Whether this process can do its work at all; false: it should be started anew. */
  readonly alive: boolean;
  /** Why not; empty when it can. A database that is away is none: see {@link notAliveReasons}. */
  readonly notAlive: readonly string[];
  readonly runningTurns: number;
  readonly heldLeases: number;
  /** Milliseconds since the last answered heartbeat was sent; null while nothing is held. */
  readonly lastBeatAgeMs: number | null;
  /** Milliseconds since the loop of the heartbeat last ran, whatever came of it; null: not started, or closed. */
  readonly lastBeatAttemptAgeMs: number | null;
  /** The longest time in milliseconds that the event loop ran nothing, within the last heartbeat intervals. */
  readonly eventLoopDelayMs: number;
  /** Milliseconds since the database last answered, and took a write where no lease is held; null: not yet. */
  readonly databaseAgeMs: number | null;
  readonly stream: EventStreamStatus;
  /** Null where the card has no push notifications. */
  readonly push: PushDeliveryStatus | null;
}

/** What readiness is judged by. */
export interface ReadinessFacts {
  readonly phase: 'starting' | 'running' | 'draining' | 'closed';
  /** An operator had it stop taking turns. Default false. */
  readonly paused?: boolean;
  readonly lastBeatAgeMs: number | null;
  readonly databaseAgeMs: number | null;
  /** A heartbeat older than this is not fresh: a lease acquired now might not be kept. */
  readonly freshMs: number;
}

/** Why a replica is not ready; empty when it is. */
export function notReadyReasons(facts: ReadinessFacts): string[] {
  const reasons: string[] = [];
  if (facts.phase !== 'running') reasons.push(facts.phase);
  if (facts.paused) reasons.push('paused by an operator');
  if (facts.lastBeatAgeMs !== null && facts.lastBeatAgeMs > facts.freshMs) {
    reasons.push(`no heartbeat for ${Math.round(facts.lastBeatAgeMs)} ms`);
  }
  if (facts.databaseAgeMs === null) reasons.push('the database has not answered yet');
  else if (facts.databaseAgeMs > facts.freshMs) {
    reasons.push(`no answer of the database for ${Math.round(facts.databaseAgeMs)} ms`);
  }
  return reasons;
}

/** What liveness is judged by. Attempts count, not answers. */
export interface LivenessFacts {
  readonly phase: ReadinessFacts['phase'];
  readonly lastBeatAttemptAgeMs: number | null;
  readonly stream: Pick<EventStreamStatus, 'lastAttemptAgeMs' | 'attemptLimitMs'>;
  readonly eventLoopDelayMs: number;
  readonly lease: {
    readonly ttlMs: number;
    readonly marginMs: number;
    readonly heartbeatMs: number;
    readonly renewalTimeoutMs: number;
  };
}

/** Heartbeats that may be missed before the loop counts as stopped. */
const MISSED_BEATS = 3;

/**
 * Why a process cannot do its work, so that a supervisor should start it anew; empty when it can. A database that is
 * away is no such reason: starting anew would not bring it back, and every replica would do it at once.
 *
 * The heartbeat's loop runs also while nothing is held, so it is judged also then: a lease that came now would be lost.
 */
export function notAliveReasons(facts: LivenessFacts): string[] {
  const { phase, lastBeatAttemptAgeMs, stream, eventLoopDelayMs, lease } = facts;
  if (phase === 'starting' || phase === 'closed') return [];
  const reasons: string[] = [];
  const beatLimitMs = MISSED_BEATS * lease.heartbeatMs + lease.renewalTimeoutMs;
  if (lastBeatAttemptAgeMs !== null && lastBeatAttemptAgeMs > beatLimitMs)
    reasons.push(`the heartbeat has not run for ${Math.round(lastBeatAttemptAgeMs)} ms`);
  if (stream.lastAttemptAgeMs !== null && stream.lastAttemptAgeMs > stream.attemptLimitMs)
    reasons.push(`nobody has tried to read the log for ${Math.round(stream.lastAttemptAgeMs)} ms`);
  if (eventLoopDelayMs > lease.ttlMs - lease.marginMs)
    reasons.push(`the event loop stood still for ${Math.round(eventLoopDelayMs)} ms`);
  return reasons;
}
