import { randomUUID } from 'node:crypto';
import type { NewEvent } from '@a2a-cluster/core';
import { createTestDatabase, openRaw, type RawConnection, type TestDatabase } from '@a2a-cluster/testing';
import type { DatabaseOptions } from '../../src/database-options.js';
import type { Database } from '../../src/database.js';
import { createPostgresDatabase } from '../../src/postgresql/database.js';
import type { CreateTask } from '../../src/statements/journal-statements.js';

/** A migrated PostgreSQL database, replicas on it, and hands behind their backs. */
export class PostgresBench {
  readonly raw: RawConnection;
  private readonly opened: { close(): Promise<unknown> }[] = [];

  private constructor(
    readonly server: TestDatabase,
    raw: RawConnection,
  ) {
    this.raw = raw;
    this.opened.push(raw);
  }

  static async open(): Promise<PostgresBench> {
    const server = await createTestDatabase({ provider: 'postgresql' });
    return new PostgresBench(server, await openRaw(server.url));
  }

  async replica(options: Partial<DatabaseOptions> = {}): Promise<Database> {
    const db = await createPostgresDatabase({ url: this.server.url, ttlMs: 15_000, poolSize: 2, ...options });
    this.opened.push(db);
    return db;
  }

  /** A connection of its own, in a transaction that holds what `sql` locks until `free`. */
  async hold(sql: string): Promise<{ free(): Promise<void> }> {
    const raw = await openRaw(this.server.url);
    this.opened.push(raw);
    await raw.run(`BEGIN; ${sql}`);
    return { free: () => raw.run('COMMIT') };
  }

  /** Ends the backends of one purpose, as an operator or a failover would. */
  async terminate(purpose: string): Promise<number> {
    const rows = await this.raw.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = $1`,
      [`a2a-cluster ${purpose}`],
    );
    return rows.length;
  }

  /** Waits until a backend waits for a lock; gives when its statement began. */
  async untilBlocked(purpose: string): Promise<string> {
    for (;;) {
      const rows = await this.raw.query(
        `SELECT query_start::text AS began FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'`,
        [`a2a-cluster ${purpose}`],
      );
      if (rows[0]) return String(rows[0]['began']);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map((one) => one.close()));
    await this.server.drop();
  }
}

/** A status update of the suite's own. */
export function statusEvent(more: Partial<NewEvent> = {}): NewEvent {
  const writeId = randomUUID();
  return { kind: 'statusUpdate', writeId, payload: JSON.stringify({ writeId }), ...more };
}

/** The first write of a new task in WORKING. */
export function workingTask(more: Partial<CreateTask> = {}): CreateTask {
  const id = randomUUID();
  return {
    ...{ taskId: `task-${id}`, scope: { tenant: '', owner: 'alice' }, contextId: `context-${id}` },
    ...{ holder: 'replica-a', ttlMs: 600_000, state: 'TASK_STATE_WORKING', statusTimestamp: null },
    ...{ terminal: false, clearsPending: false, snapshot: null },
    events: [statusEvent({ kind: 'task' })],
    ...more,
  };
}
