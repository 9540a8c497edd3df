import { openRaw, type RawConnection } from '@a2a-cluster/testing';

/** A row of `task_events`, as a test wants to see it. */
export interface EventRecord {
  readonly seq: number;
  readonly kind: string;
  readonly payload: string;
  readonly holder: string;
  readonly epoch: number;
}

/** Reads the tables as they are, past all of our own code. */
export class Rows {
  private constructor(private readonly raw: RawConnection) {}

  static async open(url: string): Promise<Rows> {
    return new Rows(await openRaw(url));
  }

  close(): Promise<void> {
    return this.raw.close();
  }

  async events(taskId: string): Promise<EventRecord[]> {
    const rows = await this.query(
      `SELECT seq, kind, payload, holder, epoch FROM task_events WHERE task_id = '${quote(taskId)}' ORDER BY seq`,
    );
    return rows.map((row) => ({
      seq: Number(row['seq']),
      kind: String(row['kind']),
      payload: String(row['payload']),
      holder: String(row['holder']),
      epoch: Number(row['epoch']),
    }));
  }

  /** When the events of a task were stored, by the database's clock, in milliseconds since 1970. */
  async times(taskId: string): Promise<number[]> {
    const rows = await this.query(
      `SELECT created_at FROM task_events WHERE task_id = '${quote(taskId)}' ORDER BY seq`,
    );
    return rows.map((row) => Number(row['created_at']));
  }

  async task(taskId: string): Promise<{ readonly state: string; readonly version: number } | undefined> {
    const [row] = await this.query(`SELECT state, version FROM tasks WHERE id = '${quote(taskId)}'`);
    return row && { state: String(row['state']), version: Number(row['version']) };
  }

  async lease(taskId: string): Promise<{ readonly holder: string; readonly epoch: number } | undefined> {
    const [row] = await this.query(
      `SELECT holder, epoch FROM task_leases WHERE task_id = '${quote(taskId)}'`,
    );
    return row && { holder: String(row['holder']), epoch: Number(row['epoch']) };
  }

  async tasks(): Promise<{ readonly taskId: string; readonly state: string; readonly version: number }[]> {
    const rows = await this.query('SELECT id, state, version FROM tasks ORDER BY id');
    return rows.map((row) => ({
      taskId: String(row['id']),
      state: String(row['state']),
      version: Number(row['version']),
    }));
  }

  async count(table: string): Promise<number> {
    const [row] = await this.query(`SELECT count(*) AS n FROM ${table}`);
    return Number(row?.['n']);
  }

  /** How many rows the tables have, as one text to compare. */
  async counts(): Promise<string> {
    const tables = ['tasks', 'task_snapshots', 'task_events', 'task_leases', 'push_notification_configs'];
    const each = tables.map((table) => `SELECT '${table}' AS name, count(*) AS n FROM ${table}`);
    const rows = await this.query(each.join(' UNION ALL '));
    return rows
      .map((row) => `${String(row['name'])}: ${String(row['n'])}`)
      .sort()
      .join(', ');
  }

  /** Whose rows there are, as `tenant/owner`. */
  async scopes(): Promise<string[]> {
    const tables = ['tasks', 'task_leases', 'push_notification_configs'];
    const each = tables.map((table) => `SELECT tenant, owner FROM ${table}`);
    const rows = await this.query(each.join(' UNION '));
    return rows.map((row) => `${String(row['tenant'])}/${String(row['owner'])}`).sort();
  }

  /** Whether the database takes a write now: a process stopped inside one holds SQLite's only lock. */
  async isWritable(): Promise<boolean> {
    try {
      await this.raw.run("UPDATE tasks SET version = version WHERE id = ''");
      return true;
    } catch {
      return false;
    }
  }

  async run(sql: string): Promise<void> {
    await this.query(sql);
  }

  private async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.raw.query(sql)) as Record<string, unknown>[];
  }
}

function quote(value: string): string {
  return value.replaceAll("'", "''");
}
