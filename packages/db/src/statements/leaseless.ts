import type { NewEvent, Scope } from '@a2a-cluster/core';
import { lostEvent, type SweepText } from './swept-event.js';

/** Which tasks without a lease are ended. */
export interface LeaselessBatch {
  /** At most this many, the oldest first. */
  readonly limit: number;
  readonly sweeper: string;
  /** ISO 8601, for the FAILED status. */
  readonly statusTimestamp: string;
  /** The sentence for people in the FAILED status. */
  readonly text: string;
  /** Only tasks that nothing was written to for so long, by the database's clock. */
  readonly idleMs: number;
  /** So many of the oldest are passed over: rows that failed before. Default 0. */
  readonly skip?: number;
}

/** A task that was ended because nobody held its lease. */
export interface EndedLeaseless {
  readonly taskId: string;
  readonly scope: Scope;
  /** The turn it was left in: that of its last event. */
  readonly epoch: number;
  readonly failed: { readonly seq: number; readonly payload: string };
}

/** A task as it was left. */
export interface LeftTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly epoch: number;
  /** When something was last written to it, in milliseconds since 1970 by the database's clock. */
  readonly idleSinceMs: number;
}

/** The FAILED event of a task that was left running without a lease (protocol 6). Whoever makes it makes the same. */
export function leaselessEvent(task: LeftTask, batch: SweepText): NewEvent {
  return lostEvent({ ...task, detail: { idleSince: new Date(task.idleSinceMs).toISOString() } }, batch);
}
