import { ClusterError, isTerminalName } from '@a2a-cluster/core';
import type { LogHead } from '@a2a-cluster/db';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { HeldLease, Heartbeat, LostCause } from '@a2a-cluster/lease-store';
import type { LeaseAuthority } from '@a2a-cluster/task-store';
import { Deferred } from './deferred.js';

/** What a turn's lease is kept with. */
export interface TurnLeaseOptions {
  readonly taskId: string;
  readonly holder: string;
  readonly heartbeat: Heartbeat;
  readonly stream: EventStream;
  /** Fires when nothing may be written any more. */
  readonly lost: AbortSignal;
  /** `known`: what the heartbeat has not noticed yet. */
  onLost(cause: string, known?: LostCause): void;
  onCancelRequested(ageMs: number): void;
}

/**
 * The lease of one turn: kept by the heartbeat, watched by the dispatcher's query, from the moment there is one until
 * the turn ends, drops it or loses it.
 */
export class TurnLease {
  private readonly held = new Deferred<number>();
  private lease: HeldLease | null = null;
  private unwatch: (() => void) | null = null;
  /** A write that takes the row away is in flight: a head without it is no news. */
  private dropping = false;
  private over = false;
  private opened: number | undefined;
  private right: LeaseAuthority | null = null;

  constructor(private readonly options: TurnLeaseOptions) {
    this.held.promise.catch(() => {});
  }

  /** The turn's epoch; undefined until there is a lease. */
  get epoch(): number | undefined {
    return this.opened;
  }

  /** Resolves with the epoch when the lease is held; rejects when the turn ends without one. */
  get whenHeld(): Promise<number> {
    return this.held.promise;
  }

  /** Begins to keep the lease. `ended`: the turn's first write was its last, so there is none to keep. */
  hold(opened: { readonly epoch: number; readonly sentAtMs: number; readonly ended: boolean }): void {
    const { epoch, sentAtMs, ended } = opened;
    const { taskId, heartbeat, stream, onLost, onCancelRequested } = this.options;
    this.opened = epoch;
    if (ended || this.over) return;
    this.lease = heartbeat.hold({
      lease: { taskId, epoch },
      sentAtMs,
      onLost: (cause) => onLost(`the lease: ${cause}`),
      onCancelRequested,
    });
    if (this.dropping) this.lease.ending(true);
    this.unwatch = stream.watchHead({ taskId, onHead: (head) => this.onHead(head) });
    this.held.resolve(epoch);
  }

  /** Brackets a write that takes the row away. */
  setDropping(active: boolean): void {
    this.dropping = active;
    this.lease?.ending(active);
  }

  /**
   * Deletes the row and tells those who follow the task; `cancel_requested`: it is marked, still held and watched.
   * Never rejects.
   */
  async release(version: number): Promise<'over' | 'cancel_requested'> {
    const { lease, opened } = this;
    if (lease === null || opened === undefined) return 'over';
    this.dropping = true;
    if ((await lease.release()) === 'cancel_requested') {
      this.dropping = false;
      return 'cancel_requested';
    }
    this.options.stream.released({ taskId: this.options.taskId, epoch: opened, version });
    return 'over';
  }

  /** Stops keeping it; the row is gone, or is left to whoever finds it expired. */
  end(): void {
    this.over = true;
    this.lease?.end();
    this.unwatch?.();
    // An error takes its time to make: none for those who have been told that it is held.
    if (this.lease === null) this.held.reject(new ClusterError('LEASE_LOST', 'the turn has ended'));
  }

  isHeld(): boolean {
    return this.lease?.isHeld() ?? false;
  }

  remainingMs(): number {
    return this.lease?.remainingMs() ?? 0;
  }

  /** Notices a deadline that has passed, whatever else is said of the lease: that is the cause then. */
  judge(): void {
    this.lease?.judge();
  }

  /** It is no longer its turn's, as somebody else than the heartbeat has found. */
  noteLost(cause: LostCause): void {
    this.lease?.noteLost(cause);
  }

  /** The right to write. @throws ClusterError `BUG` before there is a lease. */
  authority(): LeaseAuthority {
    const { lease, opened: epoch } = this;
    if (lease === null || epoch === undefined) throw new ClusterError('BUG', 'a turn writes without a lease');
    const { taskId, holder, lost } = this.options;
    return (this.right ??= { taskId, epoch, holder, lost, renewNow: () => lease.renewNow() });
  }

  /** What the dispatcher's query says of the lease: a cancel mark, or that it is gone. */
  private onHead(head: LogHead | null): void {
    const { onLost, onCancelRequested, holder } = this.options;
    if (this.over || this.dropping || this.opened === undefined) return;
    if (head === null) return onLost('the task is gone', 'gone');
    // Read before the turn was opened: it says nothing of it.
    if (head.version < this.opened) return;
    if (isTerminalName(head.state)) return onLost('the task has ended', 'gone');
    if (head.lease === null) return onLost('the lease is gone', 'gone');
    if (head.lease.epoch !== this.opened || head.lease.holder !== holder)
      return onLost('the lease is gone', 'taken');
    if (head.lease.cancelAgeMs !== null) onCancelRequested(head.lease.cancelAgeMs);
  }
}
