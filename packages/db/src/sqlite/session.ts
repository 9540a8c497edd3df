import type Sqlite from 'better-sqlite3';

/** A value SQLite takes. */
export type SqlValue = string | number | null;

/** Rows come with plain numbers: no integer of ours leaves 53 bits. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

/** The statements of one open connection, prepared once each. Everything is synchronous. */
export class SqliteSession {
  private readonly prepared = new Map<string, Sqlite.Statement<SqlValue[], SqlRow>>();
  private readonly database: Sqlite.Database;

  constructor(database: Sqlite.Database) {
    this.database = database;
  }

  /** All rows. */
  all(sql: string, ...values: SqlValue[]): SqlRow[] {
    return this.statement(sql).all(...values);
  }

  /** The first row, if there is one. */
  get(sql: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.statement(sql).get(...values);
  }

  /** Runs a statement without rows; gives how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return this.statement(sql).run(...values).changes;
  }

  private statement(sql: string): Sqlite.Statement<SqlValue[], SqlRow> {
    let statement = this.prepared.get(sql);
    if (!statement) {
      statement = this.database.prepare<SqlValue[], SqlRow>(sql);
      this.prepared.set(sql, statement);
    }
    return statement;
  }
}
