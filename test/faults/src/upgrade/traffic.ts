import pg from 'pg';
import { nowMs } from '../world/now.js';

/** What old replicas send while the schema changes under them. */
export type StatementKind = 'commit' | 'beat' | 'list' | 'read' | 'register';

/** One statement that ended. */
export interface Sent {
  readonly kind: StatementKind;
  readonly startedAtMs: number;
  readonly tookMs: number;
}

/** Traffic that goes on until it is stopped. */
export interface Traffic {
  /** Everything since the last call. */
  take(): readonly Sent[];
  /** Resolves when all of it has ended. Rejects with the first error a statement met. */
  stop(): Promise<void>;
}

interface Statement {
  readonly text: string;
  values(turn: number, count: number): readonly unknown[];
}

/** In the form of the version whose tables were filled: a commit locks task, then lease, and appends. */
const STATEMENTS: Record<StatementKind, Statement> = {
  commit: {
    text: `WITH t AS MATERIALIZED (SELECT id, version FROM tasks WHERE id = $1 FOR NO KEY UPDATE),
      l AS MATERIALIZED (SELECT l.task_id, t.version FROM task_leases l JOIN t ON t.id = l.task_id
        WHERE l.holder = 'old' AND l.epoch = 1 FOR KEY SHARE OF l),
      e AS (INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
        SELECT task_id, version + 1, 'statusUpdate', '{}', $2, 'old', 1 FROM l)
      UPDATE tasks SET version = tasks.version + 1, updated_at = clock_timestamp() FROM l WHERE tasks.id = l.task_id`,
    values: (turn, count) => [`task-${turn}`, `write-${turn}-${count}`],
  },
  beat: {
    text: `UPDATE task_leases SET expires_at = clock_timestamp() + interval '1 hour' WHERE task_id = $1 AND holder = 'old'`,
    values: (turn) => [`task-${turn}`],
  },
  list: {
    text: `SELECT id, state, status_timestamp, version FROM tasks WHERE tenant = '' AND owner = $1
      ORDER BY status_timestamp DESC, id DESC LIMIT 50`,
    values: (turn, count) => [`owner-${(turn * 31 + count) % 1000}`],
  },
  read: {
    text: `SELECT t.state, e.seq FROM tasks t LEFT JOIN task_events e ON e.task_id = t.id WHERE t.id = $1`,
    values: (turn, count) => [`task-${(turn * 7919 + count) % 10_000}`],
  },
  register: {
    text: `INSERT INTO push_notification_configs (task_id, config_id, tenant, owner, url, payload, wire_version)
      VALUES ($1, $2, '', 'owner', 'https://hooks.example/x', '{}', '1.0')`,
    values: (turn, count) => [`task-${turn}`, `more-${turn}-${count}`],
  },
};

/** Each kind twice, each on a connection of its own, one statement after the other with a short rest between. */
const CONNECTIONS_PER_KIND = 2;
const REST_MS = 5;

/** Starts it. Every connection has the server's own limits off: a statement that waits is to be seen waiting. */
export async function startTraffic(url: string, turns: number): Promise<Traffic> {
  let stopped = false;
  let sent: Sent[] = [];
  const clients: pg.Client[] = [];
  const send = async (client: pg.Client, kind: StatementKind, first: number): Promise<void> => {
    const { text, values } = STATEMENTS[kind];
    for (let count = 0; !stopped; count += 1) {
      const turn = 1 + ((first + CONNECTIONS_PER_KIND * count) % turns);
      const startedAtMs = nowMs();
      await client.query({ name: kind, text, values: [...values(turn, count)] });
      sent.push({ kind, startedAtMs, tookMs: nowMs() - startedAtMs });
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
    }
  };
  const loops: Promise<void>[] = [];
  for (const kind of Object.keys(STATEMENTS) as StatementKind[])
    for (let at = 0; at < CONNECTIONS_PER_KIND; at += 1) {
      const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
      await client.connect();
      clients.push(client);
      loops.push(send(client, kind, at));
    }
  const all = Promise.all(loops);
  // Told by `stop`.
  all.catch(() => (stopped = true));
  return {
    take: () => {
      const taken = sent;
      sent = [];
      return taken;
    },
    async stop() {
      stopped = true;
      try {
        await all;
      } finally {
        for (const client of clients) await client.end();
      }
    },
  };
}
