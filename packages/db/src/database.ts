import type { JournalStatements } from './statements/journal-statements.js';
import type { LeaseStatements } from './statements/lease-statements.js';
import type { LogStatements } from './statements/log-statements.js';
import type { OperatorQueries } from './statements/operator-queries.js';
import type { PushQueueStatements } from './statements/push-queue.js';
import type { ReplicaStatements } from './statements/replica-statements.js';
import type { RetentionStatements } from './statements/retention-statements.js';
import type { PushConfigQueries, TaskQueries } from './statements/task-queries.js';

/** The databases there are. `memory` is one process's own, for tests and single-replica use. */
export type Provider = 'memory' | 'sqlite' | 'postgresql' | 'mysql';

/** A connection that listens for hints of other replicas. */
export interface HintListener {
  /** Resolves when the connection is gone for good. */
  close(): Promise<void>;
}

/** How a database tells that something was written, beside being asked. */
export type HintSource =
  /** PostgreSQL: NOTIFY of task ids, and LISTEN on one connection. */
  | {
      readonly kind: 'listen';
      /** Sends task ids to every listener, outside any write transaction. Splits payloads over 7 900 bytes. */
      notify(taskIds: readonly string[]): Promise<void>;
      /**
       * Opens the listening connection. `onLost` is called once, when the connection fails or stops answering its
       * liveness check; the caller reconnects. Rejects when it cannot be opened.
       */
      listen(handlers: {
        onHint(taskIds: readonly string[]): void;
        onLost(cause: unknown): void;
      }): Promise<HintListener>;
    }
  /** SQLite: a counter that changes when any other connection has committed; reading it touches no table. */
  | { readonly kind: 'counter'; read(): number }
  /** MySQL and MariaDB: nothing; the log is asked at an interval. */
  | { readonly kind: 'none' };

/** Options of {@link Database.check}. */
export interface DatabaseCheck {
  /** The longest event that may be stored, in bytes; MySQL compares it with `max_allowed_packet`. */
  readonly maxEventBytes: number;
}

/**
 * One database as this project uses it. Everything above this layer is the same for every provider.
 */
export interface Database {
  readonly provider: Provider;
  readonly journal: JournalStatements;
  readonly leases: LeaseStatements;
  readonly log: LogStatements;
  readonly tasks: TaskQueries;
  readonly pushConfigs: PushConfigQueries;
  readonly pushQueue: PushQueueStatements;
  readonly replicas: ReplicaStatements;
  /** For operators: not scoped by owner. */
  readonly operators: OperatorQueries;
  readonly retention: RetentionStatements;
  readonly hints: HintSource;
  /**
   * The start check (protocol 1 to 3): reachable, version, time zone, clock, settings, schema complete and ours.
   * @throws `ClusterError` with code `DATABASE_UNREACHABLE`, `DATABASE_UNSUITABLE`, `SCHEMA_BEHIND` or
   * `SCHEMA_FOREIGN`, whose message names the cause and the way out.
   */
  check(check: DatabaseCheck): Promise<{ readonly warnings: readonly string[] }>;
  /** A cheap round trip, for readiness; rejects when the database does not answer. */
  ping(): Promise<void>;
  /** Ends every connection; bounded, also when the database is away. Idempotent. */
  close(): Promise<void>;
}
