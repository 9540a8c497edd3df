import type { EventRow, LeaseView, Scope, StateName } from '@a2a-cluster/core';

/** Which tasks an operator wants to see. Every condition named must hold. */
export interface FindTasks {
  /** Any of these; default all. */
  readonly states?: readonly StateName[];
  readonly tenant?: string;
  readonly owner?: string;
  readonly contextId?: string;
  /** Only tasks whose lease is this replica's. */
  readonly holder?: string;
  /** Only tasks created longer ago than this, by the database's clock. */
  readonly olderThanMs?: number;
  /** Only tasks created within this time. */
  readonly youngerThanMs?: number;
  /** Resume after this position, exclusive. */
  readonly cursor?: TaskPosition;
  readonly limit: number;
}

/** Where a page ends: tasks are sorted by creation, then id, both descending. */
export interface TaskPosition {
  /** Milliseconds since 1970, by the database's clock. */
  readonly createdAtMs: number;
  readonly taskId: string;
}

/** A task for operators, without its document. Ages are by the database's clock. */
export interface OperatorTask extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: StateName;
  readonly version: number;
  readonly createdAtMs: number;
  readonly ageMs: number;
  /** Since its last event. */
  readonly idleMs: number;
  readonly lease: LeaseView | null;
}

/** An event of the log with when it was written. */
export interface OperatorEvent extends EventRow {
  /** Milliseconds since 1970, by the database's clock. */
  readonly createdAtMs: number;
}

/**
 * Reads for operators: over all owners, so never for callers. None locks, none counts everything. An id, tenant or owner
 * that cannot be stored is found nowhere: an empty answer, without asking.
 */
export interface OperatorQueries {
  /**
   * A page, answered from an index whatever the number of tasks: of the states, of the owner (`tenant` and `owner`
   * together), or of the holder's leases. Where `contextId`, `tenant` or `owner` stands alone, the tasks are read in
   * their order until the page is full, which for a rare one may be all of them.
   */
  findTasks(find: FindTasks): Promise<readonly OperatorTask[]>;
  task(taskId: string): Promise<OperatorTask | null>;
  /** Events with a seq greater than `after`, in order; fewer where retention has deleted some. */
  events(page: {
    readonly taskId: string;
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly OperatorEvent[]>;
  /** How many tasks are in each state that is not an end, counted in an index. States without any are left out. */
  countLive(): Promise<Readonly<Record<StateName, number>>>;
  /** Tasks that are SUBMITTED or WORKING and have no lease: nobody runs them and nobody will end them. */
  countLeaseless(): Promise<number>;
}
