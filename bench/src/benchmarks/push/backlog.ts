import { setTimeout as pause } from 'node:timers/promises';
import { A2A_CONTENT_TYPE, TaskPushNotificationConfig } from '@a2a-js/sdk';
import { encodeEvent, type EventKind } from '@a2a-cluster/core';
import { openRaw, type RawConnection, type TestProvider } from '@a2a-cluster/testing';
import type { Post } from '../../baselines/bare-posts.js';
import { nowMs } from '../../harness/time.js';
import { chunkEvent, endEvent } from '../../servers/agent.js';

/** What waits to be delivered: one config for each task. */
export interface BacklogSize {
  readonly configs: number;
  readonly eventsPerConfig: number;
  /** Where the webhooks are; configs take them in turn. */
  readonly origins: readonly string[];
}

/** Deliveries that nobody has begun with, made behind the product's back. */
export interface Backlog {
  /** The same as bare requests, in an order that keeps those of one config apart. */
  readonly posts: readonly Post[];
  /** Empties the tables and fills them: every task has ended, every config is due and at position 0. */
  make(): Promise<void>;
  /** Configs that a replica holds now. */
  heldBy(replicaId: string): Promise<ReadonlySet<string>>;
  /** Rejects unless every config is at its task's end, and done, before `withinMs` have passed. */
  expectDelivered(withinMs: number): Promise<void>;
}

/** Text of one chunk. */
const CHUNK_BYTES = 200;
const ROWS_AT_ONCE = 500;
const TABLES = [
  'tasks',
  'task_leases',
  'task_events',
  'task_snapshots',
  'push_notification_configs',
  'push_dead_letters',
];
/** Statements of a replica that has died may still be carried out. */
const LATE_MS = 100;

/** Makes and counts them on a database of its own. The caller closes it. */
export async function openBacklog(
  database: { readonly provider: TestProvider; readonly url: string },
  size: BacklogSize,
): Promise<Backlog & { close(): Promise<void> }> {
  const raw = await openRaw(database.url);
  return {
    posts: postsOf(size),
    make: () => make(raw, { size, provider: database.provider }),
    heldBy: async (replicaId) => {
      await pause(LATE_MS);
      const rows = await raw.query('SELECT task_id, config_id, holder FROM push_notification_configs');
      const held = rows.filter(({ holder }) => String(holder).startsWith(`${replicaId}-`));
      return new Set(held.map((row) => `${String(row['task_id'])}:${String(row['config_id'])}`));
    },
    expectDelivered: (withinMs) => expectDelivered(raw, { size, withinMs }),
    close: () => raw.close(),
  };
}

async function expectDelivered(
  raw: RawConnection,
  { size, withinMs }: { readonly size: BacklogSize; readonly withinMs: number },
): Promise<void> {
  const untilMs = nowMs() + withinMs;
  for (;;) {
    const [found] = await raw.query(
      `SELECT COUNT(*) AS done FROM push_notification_configs
        WHERE status = 'done' AND position = ${size.eventsPerConfig} AND holder IS NULL AND due_at IS NULL`,
    );
    if (Number(found?.['done']) === size.configs) return;
    if (nowMs() > untilMs) throw new Error(`${String(found?.['done'])} of ${size.configs} configs are done`);
    await pause(LATE_MS);
  }
}

interface Webhook {
  readonly taskId: string;
  readonly url: string;
}

function webhooksOf({ configs, origins }: BacklogSize): Webhook[] {
  return Array.from({ length: configs }, (_, index) => ({
    taskId: `pushed-${String(index).padStart(6, '0')}`,
    url: `${origins[index % origins.length] ?? ''}/hook`,
  }));
}

function eventOf(
  taskId: string,
  at: { readonly seq: number; readonly last: boolean },
): { kind: EventKind; payload: string } {
  const ids = { taskId, contextId: taskId };
  const event = at.last
    ? endEvent(ids, { messageId: `${taskId}-end` })
    : chunkEvent(ids, { text: `${at.seq} `.padEnd(CHUNK_BYTES, 'lorem ipsum '), append: at.seq > 1 });
  if (event.kind === 'message') throw new Error('no message is pushed');
  return { kind: event.kind, payload: encodeEvent(event) };
}

function postsOf(size: BacklogSize): Post[] {
  const { eventsPerConfig } = size;
  const webhooks = webhooksOf(size);
  return Array.from({ length: eventsPerConfig }, (_, index) => index + 1).flatMap((seq) =>
    webhooks.map(({ taskId, url }) => ({
      url,
      body: eventOf(taskId, { seq, last: seq === eventsPerConfig }).payload,
      headers: {
        'content-type': A2A_CONTENT_TYPE,
        'user-agent': 'a2a-cluster',
        'A2A-Notification-Id': `${taskId}:${seq}:hook`,
      },
    })),
  );
}

async function make(
  raw: RawConnection,
  { size, provider }: { readonly size: BacklogSize; readonly provider: TestProvider },
): Promise<void> {
  // Rows that were deleted would otherwise be passed by all the scans of the next round.
  const empty = provider === 'sqlite' ? 'DELETE FROM' : 'TRUNCATE TABLE';
  for (const table of TABLES) await raw.run(`${empty} ${table}`);
  const webhooks = webhooksOf(size);
  await insert(raw, 'tasks (id, tenant, owner, context_id, state, status_timestamp, version)', {
    rows: webhooks.map(({ taskId }) =>
      quoted(taskId, '', 'bench', taskId, 'TASK_STATE_COMPLETED', '2026-01-01T00:00:00.000Z').concat(
        `, ${size.eventsPerConfig}`,
      ),
    ),
  });
  await insert(raw, 'task_events (task_id, kind, payload, write_id, holder, epoch, seq)', {
    rows: webhooks.flatMap(({ taskId }) => eventRows(taskId, size)),
  });
  const columns = 'task_id, config_id, tenant, owner, url, payload, wire_version, origin';
  await insert(raw, `push_notification_configs (${columns})`, {
    rows: webhooks.map(({ taskId, url }) => {
      const config = TaskPushNotificationConfig.fromJSON({ id: 'hook', taskId, url });
      const payload = JSON.stringify(TaskPushNotificationConfig.toJSON(config));
      return quoted(taskId, 'hook', '', 'bench', url, payload, '1.0', new URL(url).origin);
    }),
  });
  if (provider === 'postgresql')
    await raw.run('ANALYZE tasks; ANALYZE task_events; ANALYZE push_notification_configs');
}

function eventRows(taskId: string, { eventsPerConfig }: BacklogSize): string[] {
  return Array.from({ length: eventsPerConfig }, (_, index) => {
    const seq = index + 1;
    const { kind, payload } = eventOf(taskId, { seq, last: seq === eventsPerConfig });
    return `${quoted(taskId, kind, payload, `${taskId}-${seq}`, 'replica-gone')}, 1, ${seq}`;
  });
}

/** None of the texts here holds a quote or a backslash. */
function quoted(...texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ');
}

async function insert(
  raw: RawConnection,
  into: string,
  { rows }: { readonly rows: readonly string[] },
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const values = rows.slice(from, from + ROWS_AT_ONCE).map((row) => `(${row})`);
    await raw.run(`INSERT INTO ${into} VALUES ${values.join(', ')}`);
  }
}
