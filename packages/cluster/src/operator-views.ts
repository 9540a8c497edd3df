import type { FindTasks, OperatorEvent, OperatorTask, ReplicaListing, TaskPosition } from '@a2a-cluster/db';
import type { LogHead } from '@a2a-cluster/db';

/** A page of tasks. */
export interface OperatorTaskPage {
  readonly tasks: readonly OperatorTask[];
  /** Where the next page begins; null: there is none. */
  readonly next: TaskPosition | null;
}

/** What an operator may ask about tasks; over all owners, so never for callers. */
export interface TaskOperator {
  /** The youngest first. `limit` defaults to 50, at most 200. */
  find(find?: Partial<FindTasks>): Promise<OperatorTaskPage>;
  /** Null: no such task. */
  get(taskId: string): Promise<OperatorTask | null>;
  /** The task's document as of its version, as the SDK's JSON. Null: no such task. */
  document(taskId: string): Promise<Readonly<Record<string, unknown>> | null>;
  /** Events after a seq (default 0), at most `limit` (default 200). */
  events(page: {
    readonly taskId: string;
    readonly after?: number;
    readonly limit?: number;
  }): Promise<readonly OperatorEvent[]>;
  /** Tasks per live state, and how many run without a lease. */
  counts(): Promise<{ readonly live: Readonly<Record<string, number>>; readonly leaseless: number }>;
  /**
   * Cancels as its owner would (protocol 8): a live turn is told and has the grace. `not_found`, or `ended` some other
   * way before.
   */
  cancel(taskId: string): Promise<'canceled' | 'not_found' | 'ended'>;
  /**
   * Calls `onHead` whenever this replica learns that one of the tasks changed; null: it is gone. All watchers share the
   * one query that the replica makes for its streams: another one costs no statement. Gives a function that ends it.
   */
  watch(watch: {
    readonly taskIds: readonly string[];
    onHead(taskId: string, head: LogHead | null): void;
  }): () => void;
}

/** What an operator may ask and do about replicas. */
export interface ReplicaOperator {
  /** Every replica in the table, the youngest first. One statement. */
  list(): Promise<readonly ReplicaListing[]>;
  /** What this replica read at its last heartbeat, and how long ago by its own clock; no I/O. Null age: not yet. */
  known(): { readonly replicas: readonly ReplicaListing[]; readonly ageMs: number | null };
  /**
   * Has a replica take no more turns: those that run go on, reads and streams are answered, `/readyz` says 503. It
   * learns of it with its next heartbeat. False: no such replica.
   */
  drain(replicaId: string): Promise<boolean>;
  /** Has it take turns again. A replica that is closing does not come back. */
  resume(replicaId: string): Promise<boolean>;
}
