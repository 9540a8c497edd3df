import type { StateName } from '@a2a-cluster/core';
import type { Database, Provider } from '../database.js';

/** Changes that no statement makes, for states that only a fault can leave behind. */
export interface ContractTamper {
  /** Removes the row of `tasks`, nothing else. */
  deleteTask(taskId: string): Promise<void>;
  /** Sets `tasks.state`, nothing else. */
  setState(taskId: string, state: StateName): Promise<void>;
  /** Moves every moment of a task's push configs and dead letters so far into the past, as if the time had passed. */
  agePushes(taskId: string, ms: number): Promise<void>;
  /** Removes all push configs and dead letters. */
  clearPushes(): Promise<void>;
  /** Sets `tasks.created_at` to so many milliseconds since 1970. */
  setCreated(taskId: string, atMs: number): Promise<void>;
  /** Moves every moment of a replica's row so far into the past. */
  ageReplica(replicaId: string, ms: number): Promise<void>;
}

/** A database opened for the suite. It starts empty and migrated, and nobody else writes to it. */
export interface ContractFixture {
  readonly db: Database;
  /** Another replica's connections to the same rows. Absent: the suite uses `db` for both. Closed by {@link close}. */
  readonly second?: () => Promise<Database>;
  /** See {@link createSqlTamper}. */
  readonly tamper: ContractTamper;
  /** Closes everything and removes the database. */
  close(): Promise<void>;
  /** Moves the database's clock, where a test can. Absent: the suite waits for short leases to expire. */
  elapse?(ms: number): Promise<void>;
}

/** What {@link describeDatabaseContract} is told. */
export interface ContractOptions {
  /** Stands in the titles. */
  readonly name: string;
  /** Called once, before the first test. */
  open(): Promise<ContractFixture>;
}

/** So many milliseconds before a moment that a column holds. */
const EARLIER: Record<Exclude<Provider, 'memory'>, (column: string, ms: number) => string> = {
  postgresql: (column, ms) => `${column} - interval '${ms} ms'`,
  mysql: (column, ms) => `${column} - INTERVAL ${ms * 1_000} MICROSECOND`,
  sqlite: (column, ms) => `${column} - ${ms}`,
};

/** The moment so many milliseconds after the start of 1970. */
const MOMENT: Record<Exclude<Provider, 'memory'>, (ms: number) => string> = {
  postgresql: (ms) => `timestamptz 'epoch' + interval '${ms} ms'`,
  mysql: (ms) => `TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ${ms * 1_000} MICROSECOND`,
  sqlite: (ms) => `${ms}`,
};

/** The tamper of a database that speaks SQL; `run` executes one statement without parameters. */
export function createSqlTamper(
  provider: Exclude<Provider, 'memory'>,
  run: (sql: string) => Promise<unknown>,
): ContractTamper {
  const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;
  const age = async (table: string, columns: readonly string[], of: { taskId: string; ms: number }) => {
    const moved = columns.map((column) => `${column} = ${EARLIER[provider](column, of.ms)}`);
    await run(`UPDATE ${table} SET ${moved.join(', ')} WHERE task_id = ${quoted(of.taskId)}`);
  };
  return {
    deleteTask: async (taskId) => void (await run(`DELETE FROM tasks WHERE id = ${quoted(taskId)}`)),
    setState: async (taskId, state) =>
      void (await run(`UPDATE tasks SET state = ${quoted(state)} WHERE id = ${quoted(taskId)}`)),
    async agePushes(taskId, ms) {
      await age('push_notification_configs', ['changed_at', 'due_at', 'failing_since'], { taskId, ms });
      await age('push_dead_letters', ['died_at', 'due_at'], { taskId, ms });
    },
    setCreated: async (taskId, atMs) =>
      void (await run(
        `UPDATE tasks SET created_at = ${MOMENT[provider](atMs)} WHERE id = ${quoted(taskId)}`,
      )),
    async ageReplica(replicaId, ms) {
      const moved = ['started_at', 'beat_at'].map((column) => `${column} = ${EARLIER[provider](column, ms)}`);
      await run(`UPDATE replicas SET ${moved.join(', ')} WHERE replica_id = ${quoted(replicaId)}`);
    },
    async clearPushes() {
      await run('DELETE FROM push_notification_configs');
      await run('DELETE FROM push_dead_letters');
    },
  };
}
