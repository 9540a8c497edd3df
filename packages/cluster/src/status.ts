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
  readonly runningTurns: number;
  readonly heldLeases: number;
  /** Milliseconds since the last answered heartbeat was sent; null while nothing is held. */
  readonly lastBeatAgeMs: number | null;
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
