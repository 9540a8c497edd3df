import { isTerminalName, type EventRow } from '@a2a-cluster/core';
import type { ClaimedPush } from '@a2a-cluster/db';
import { decodeConfig, type StoredPushConfig } from '../stored-config.js';
import type { TaskAtRow } from '../task-at-row.js';

/** A claim this replica holds, and how far it has come. */
export interface LiveClaim {
  readonly push: ClaimedPush;
  /** Its config, read once; null: it cannot be. */
  readonly stored: StoredPushConfig | null;
  /** The seq of the last event that needs no more attempts. */
  position: number;
  /** The last seq of the task that is known of here. */
  version: number;
  /** Events after `position` that were read. */
  rows: readonly EventRow[];
  /** By this process's monotonic time: until then nobody else takes it. */
  trustedUntilMs: number;
  /** Failed attempts of the next event, and when the first was. */
  attempts: number;
  failingSinceMs: number;
  /** Its body, where one was stored. */
  body: { readonly seq: number; readonly text: string } | null;
  /** For webhooks that are sent the whole task. */
  taskAt: TaskAtRow | null;
  /** No event will follow those up to `version`. */
  taskEnded: boolean;
  /** Ends the wait for more events. */
  more: (() => void) | null;
  /** Attempts since others of its origin had their turn. */
  inARow: number;
  /** A mark of it waits to be sent. */
  marking: boolean;
  /** An event was accepted since the last settlement. */
  accepted: boolean;
  /** Another holder has it, or it was settled: nothing more is sent. */
  ended: boolean;
}

/** The claim as the database gave it. `sentAtMs`: before the statement was sent, by monotonic time. */
export function createLiveClaim(
  push: ClaimedPush,
  when: { readonly sentAtMs: number; readonly nowMs: number; readonly ttlMs: number },
): LiveClaim {
  return {
    push,
    stored: decodeConfig(push),
    position: push.position,
    version: push.version,
    rows: [],
    trustedUntilMs: when.sentAtMs + when.ttlMs,
    attempts: push.attempts,
    failingSinceMs: when.nowMs - push.failingForMs,
    body: push.body,
    taskAt: null,
    taskEnded: isTerminalName(push.state),
    more: null,
    inARow: 0,
    marking: false,
    accepted: false,
    ended: false,
  };
}

/** Moves past an event that was accepted or given up. */
export function moveTo(claim: LiveClaim, seq: number): void {
  claim.position = seq;
  claim.version = Math.max(claim.version, seq);
  claim.attempts = 0;
  claim.body = null;
  if (claim.rows[0] !== undefined && claim.rows[0].seq <= seq)
    claim.rows = claim.rows.filter((row) => row.seq > seq);
}

/** Which claim: of one config there is at most one here. */
export function keyOf(key: { readonly taskId: string; readonly configId: string }): string {
  return `${key.taskId}\u0000${key.configId}`;
}
