import { openRaw, type RawConnection } from '@a2a-cluster/testing';
import type {
  DeadLetterRow,
  EventRow,
  LeaseRow,
  PushConfigRow,
  Tables,
  TaskRow,
} from '../history/history.js';
import { archivedEvents, archiveSql, EVENT_COLUMNS } from './archive.js';
import { nowMs } from './now.js';

type Row = Readonly<Record<string, unknown>>;

const CLOCK = {
  postgresql: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now_ms',
  mysql: 'SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS DOUBLE) AS now_ms',
  sqlite: `SELECT unixepoch('subsec') * 1000 AS now_ms`,
};

/** The tables of one database, past all code of the cluster. Reconnects when its connection was lost. */
export class Database {
  private raw: Promise<RawConnection> | null = null;
  private archived = false;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly provider: keyof typeof CLOCK,
    readonly url: string,
  ) {}

  /** Keeps events that are deleted from now on, so that a history holds the whole log. Before a replica is started. */
  async archive(): Promise<void> {
    const raw = await openRaw(this.url);
    try {
      await raw.run(archiveSql(this.provider));
    } finally {
      await raw.close();
    }
    this.archived = true;
  }

  /** Rows of one statement without parameters, after those that were asked for before: there is one connection. */
  query(sql: string): Promise<Row[]> {
    const answer = this.last.then(() => this.ask(sql));
    this.last = answer.catch(() => {});
    return answer;
  }

  private async ask(sql: string): Promise<Row[]> {
    this.raw ??= openRaw(this.url);
    try {
      return (await (await this.raw).query(sql)) as Row[];
    } catch (error) {
      const lost = this.raw;
      this.raw = null;
      void lost.then((raw) => raw.close()).catch(() => {});
      throw error;
    }
  }

  /** One number. */
  async number(sql: string): Promise<number> {
    const [row] = await this.query(sql);
    return Number(Object.values(row ?? {})[0] ?? 0);
  }

  /** How far its clock is ahead of the harness. */
  async aheadMs(): Promise<number> {
    await this.query('SELECT 1');
    const beforeMs = nowMs();
    const theirs = await this.number(CLOCK[this.provider]);
    return theirs - (beforeMs + nowMs()) / 2;
  }

  /** Tasks that neither ended nor wait for their client, and leases: what is still going on. */
  async unsettled(): Promise<string[]> {
    const tasks = await this.query(
      `SELECT id, state FROM tasks WHERE state NOT IN ('TASK_STATE_COMPLETED','TASK_STATE_FAILED',
       'TASK_STATE_CANCELED','TASK_STATE_REJECTED','TASK_STATE_INPUT_REQUIRED','TASK_STATE_AUTH_REQUIRED')`,
    );
    const leases = await this.query('SELECT task_id, holder FROM task_leases');
    return [
      ...tasks.map((row) => `task ${String(row['id'])} is ${String(row['state'])}`),
      ...leases.map((row) => `task ${String(row['task_id'])} is leased by ${String(row['holder'])}`),
    ];
  }

  /** Webhooks that are to be sent something still, by task. */
  async unpushed(): Promise<{ readonly taskId: string; readonly text: string }[]> {
    const rows = await this.query(
      `SELECT c.task_id, c.config_id, c.position, c.attempts, c.holder, t.version FROM push_notification_configs c
       JOIN tasks t ON t.id = c.task_id WHERE c.status = 'active' AND c.position < t.version`,
    );
    return rows.map((row) => {
      const [taskId, config, holder] = [row['task_id'], row['config_id'], row['holder']].map(String);
      const of = `${String(row['position'])} of ${String(row['version'])}`;
      const text = `webhook ${config} of task ${taskId} is at ${of}, ${String(row['attempts'])} attempts, holder ${holder}`;
      return { taskId: taskId ?? '', text };
    });
  }

  /** Every row that a history holds. */
  async read(aheadMs: number): Promise<Tables> {
    const moment = (value: unknown): number => Number(value) - aheadMs;
    const tasks = await this.query(
      'SELECT id, tenant, owner, context_id, state, version FROM tasks ORDER BY id',
    );
    const pruned = this.archived ? archivedEvents : '';
    const events = await this.query(
      `SELECT ${EVENT_COLUMNS}, NULL AS pruned_at FROM task_events ${pruned} ORDER BY task_id, seq`,
    );
    const leases = await this.query('SELECT task_id, holder, epoch, pending, expires_at FROM task_leases');
    const configs = await this.query(
      `SELECT task_id, config_id, url, created_at, status, position, attempts, holder, claim
       FROM push_notification_configs`,
    );
    const letters = await this.query(
      'SELECT task_id, config_id, seq, attempts, error FROM push_dead_letters ORDER BY task_id, config_id, seq',
    );
    return {
      tasks: tasks.map(toTask),
      events: events.map((row) => toEvent(row, moment)),
      leases: leases.map((row) => toLease(row, moment)),
      pushConfigs: configs.map((row) => toConfig(row, moment)),
      deadLetters: letters.map(toDeadLetter),
    };
  }

  async close(): Promise<void> {
    const { raw } = this;
    this.raw = null;
    await raw?.then((open) => open.close()).catch(() => {});
  }
}

function toTask(row: Row): TaskRow {
  return {
    taskId: String(row['id']),
    tenant: String(row['tenant']),
    owner: String(row['owner']),
    contextId: String(row['context_id']),
    state: String(row['state']),
    version: Number(row['version']),
  };
}

function toEvent(row: Row, moment: (value: unknown) => number): EventRow {
  return {
    taskId: String(row['task_id']),
    seq: Number(row['seq']),
    kind: String(row['kind']),
    payload: String(row['payload']),
    writeId: String(row['write_id']),
    messageId: row['message_id'] === null ? null : String(row['message_id']),
    holder: String(row['holder']),
    epoch: Number(row['epoch']),
    createdAtMs: moment(row['created_at']),
    ...(row['pruned_at'] == null ? {} : { prunedAtMs: moment(row['pruned_at']) }),
  };
}

function toLease(row: Row, moment: (value: unknown) => number): LeaseRow {
  return {
    taskId: String(row['task_id']),
    holder: String(row['holder']),
    epoch: Number(row['epoch']),
    pending: Boolean(Number(row['pending'])),
    expiresAtMs: moment(row['expires_at']),
  };
}

function toConfig(row: Row, moment: (value: unknown) => number): PushConfigRow {
  return {
    taskId: String(row['task_id']),
    configId: String(row['config_id']),
    url: String(row['url']),
    createdAtMs: moment(row['created_at']),
    status: String(row['status']),
    position: Number(row['position']),
    attempts: Number(row['attempts']),
    holder: row['holder'] === null ? null : String(row['holder']),
    claim: Number(row['claim']),
  };
}

function toDeadLetter(row: Row): DeadLetterRow {
  return {
    taskId: String(row['task_id']),
    configId: String(row['config_id']),
    seq: Number(row['seq']),
    attempts: Number(row['attempts']),
    error: String(row['error']),
  };
}
