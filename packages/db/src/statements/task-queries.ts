import type { Scope, StateName } from '@a2a-cluster/core';
import type { StoredTask } from './log-statements.js';

/** A page of a caller's tasks. */
export interface TaskListQuery {
  /** Null: every owner's, for operators only. */
  readonly scope: Scope | null;
  readonly contextId?: string;
  readonly state?: StateName;
  /** Only tasks whose status timestamp is later than this ISO 8601 instant. */
  readonly statusAfter?: string;
  /** Resume after this position, exclusive. */
  readonly cursor?: { readonly statusTimestamp: string; readonly taskId: string };
  readonly limit: number;
}

/** A task's row, without its document. */
export interface TaskRow {
  readonly taskId: string;
  readonly scope: Scope;
  readonly contextId: string;
  readonly state: StateName;
  /** `''` when the agent gave none. */
  readonly statusTimestamp: string;
  readonly version: number;
}

/** One page and the count of all matches. */
export interface TaskListPage {
  /** Sorted by status timestamp, then id, both descending; tasks without a timestamp last. */
  readonly rows: readonly TaskRow[];
  readonly total: number;
}

/** Reads of tasks off the hot path. */
export interface TaskQueries {
  list(query: TaskListQuery): Promise<TaskListPage>;
  /** The documents of these tasks in as few statements as the database allows; missing ones are left out. */
  readTasks(taskIds: readonly string[]): Promise<readonly StoredTask[]>;
}

/** A stored push config; `payload` is the codec's JSON. */
export interface PushConfigRow {
  readonly taskId: string;
  readonly configId: string;
  readonly scope: Scope;
  readonly payload: string;
  /** The protocol version of the caller that registered it: decides the form of its deliveries. */
  readonly wireVersion: string;
  /** `scheme://host:port` of its webhook, at most {@link MOST_ORIGIN_CHARS} long. */
  readonly origin: string;
}

/** The longest origin that can be stored: more than any host that resolves. */
export const MOST_ORIGIN_CHARS = 300;

/** The most configs a task may have. */
export const MOST_CONFIGS_PER_TASK = 50;

/** What became of a config: `taken` where its id is another scope's, `full` where its task has the most already. */
export type PushConfigSaved = 'saved' | 'taken' | 'full';

/** Tasks whose push configs are asked for together: the batch of a sweep, and far below what databases bind. */
export const MOST_TASKS_AT_ONCE = 500;

/** Push configs, always scoped by tenant and owner. */
export interface PushConfigQueries {
  /**
   * Inserts or replaces (task, config) of this scope. A new one is delivered what is committed after this. One that is
   * there stays where it is, unless it was `disabled` or `done`: then it begins anew, at the task's last event.
   * However many replicas save at once, a task never keeps more than {@link MOST_CONFIGS_PER_TASK}.
   */
  save(row: PushConfigRow): Promise<PushConfigSaved>;
  /** In the order they were first saved. */
  load(find: { readonly taskId: string; readonly scope: Scope }): Promise<readonly PushConfigRow[]>;
  /** Deletes one config and its dead letters, or all of the task when `configId` is absent. Idempotent. */
  remove(find: { readonly taskId: string; readonly scope: Scope; readonly configId?: string }): Promise<void>;
}
