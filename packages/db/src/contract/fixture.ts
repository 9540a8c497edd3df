import type { StateName } from '@a2a-cluster/core';
import type { Database } from '../database.js';

/** Changes that no statement makes, for states that only a fault can leave behind. */
export interface ContractTamper {
  /** Removes the row of `tasks`, nothing else. */
  deleteTask(taskId: string): Promise<void>;
  /** Sets `tasks.state`, nothing else. */
  setState(taskId: string, state: StateName): Promise<void>;
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

/** The tamper of a database that speaks SQL; `run` executes one statement without parameters. */
export function createSqlTamper(run: (sql: string) => Promise<unknown>): ContractTamper {
  const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;
  return {
    deleteTask: async (taskId) => void (await run(`DELETE FROM tasks WHERE id = ${quoted(taskId)}`)),
    setState: async (taskId, state) =>
      void (await run(`UPDATE tasks SET state = ${quoted(state)} WHERE id = ${quoted(taskId)}`)),
  };
}
