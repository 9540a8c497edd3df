import type { EventKind, EventRow } from '@a2a-cluster/core';
import type { StoredTask } from '../statements/log-statements.js';
import type { PortableClient, PrismaProvider } from './portable-client.js';
import { guarded } from './prisma-faults.js';

/** Ids per statement: SQLite and PostgreSQL bind 32 767 and more, but a plan over thousands is a bad one. */
const IDS_PER_STATEMENT = 500;

/** Milliseconds from now until `column` by each database's clock. */
const UNTIL: Record<PrismaProvider, (column: string) => string> = {
  postgresql: (column) =>
    `CAST(extract(epoch FROM ${column} - clock_timestamp()) * 1000 AS double precision)`,
  mysql: (column) => `TIMESTAMPDIFF(MICROSECOND, SYSDATE(3), ${column}) / 1000e0`,
  sqlite: (column) => `(${column} - CAST(unixepoch('subsec') * 1000 AS INTEGER))`,
};

/**
 * The documents of a page of tasks: one statement for up to 500. Raw SQL through Prisma, because the events to read
 * depend on each task's snapshot; as separate queries, a task that moves in between would give a snapshot, events
 * and a version that belong to different moments. Window functions are in every version that is supported.
 */
export async function readTasks(read: {
  readonly client: PortableClient;
  readonly provider: PrismaProvider;
  readonly taskIds: readonly string[];
}): Promise<readonly StoredTask[]> {
  const { client, provider, taskIds } = read;
  const ids = [...new Set(taskIds)];
  const found: StoredTask[] = [];
  for (let from = 0; from < ids.length; from += IDS_PER_STATEMENT) {
    const part = ids.slice(from, from + IDS_PER_STATEMENT);
    const text = statementFor(provider, part.length);
    const run = (): PromiseLike<Row[]> => client.$queryRawUnsafe<Row[]>(text, ...part);
    found.push(...toStoredTasks(await guarded({ name: 'readTasks', writes: false, run })));
  }
  return found;
}

function statementFor(provider: PrismaProvider, ids: number): string {
  const until = UNTIL[provider];
  const places = Array.from({ length: ids }, (_, n) => (provider === 'postgresql' ? `$${n + 1}` : '?'));
  return `
SELECT t.id, t.tenant, t.owner, t.context_id, t.state, t.version,
       x.holder AS lease_holder, x.epoch AS lease_epoch, x.pending, ${until('x.expires_at')} AS remaining_ms,
       ${until('x.cancel_requested_at')} AS cancel_in_ms, s.version AS snapshot_version,
       CASE WHEN row_number() OVER (PARTITION BY t.id ORDER BY e.seq) = 1 THEN s.payload END AS snapshot,
       e.seq, e.kind, e.payload, e.message_id, e.holder, e.epoch
  FROM tasks t
  LEFT JOIN task_leases x ON x.task_id = t.id
  LEFT JOIN task_snapshots s ON s.task_id = t.id
  LEFT JOIN task_events e ON e.task_id = t.id AND e.seq > coalesce(s.version, 0)
 WHERE t.id IN (${places.join(', ')})
 ORDER BY t.id, e.seq`;
}

/** Numbers come as number, bigint or decimal, booleans as boolean or number, as the adapter has it. */
type Numeric = number | bigint | string | { toString(): string };

interface Row {
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
  readonly context_id: string;
  readonly state: string;
  readonly version: Numeric;
  readonly lease_holder: string | null;
  readonly lease_epoch: Numeric | null;
  readonly pending: boolean | Numeric | null;
  readonly remaining_ms: Numeric | null;
  readonly cancel_in_ms: Numeric | null;
  readonly snapshot_version: Numeric | null;
  readonly snapshot: string | null;
  /** Null: no event after the snapshot, and all that follows is null too. */
  readonly seq: Numeric | null;
  readonly kind: EventKind;
  readonly payload: string;
  readonly message_id: string | null;
  readonly holder: string;
  readonly epoch: Numeric;
}

function toStoredTasks(rows: readonly Row[]): StoredTask[] {
  const grouped = new Map<string, { readonly first: Row; readonly events: EventRow[] }>();
  for (const row of rows) {
    const task = grouped.get(row.id) ?? { first: row, events: [] };
    grouped.set(row.id, task);
    if (row.seq !== null) task.events.push(toEvent(row, Number(row.seq)));
  }
  return [...grouped.values()].map(({ first, events }) => toStoredTask(first, events));
}

function toStoredTask(row: Row, events: readonly EventRow[]): StoredTask {
  return {
    taskId: row.id,
    scope: { tenant: row.tenant, owner: row.owner },
    contextId: row.context_id,
    state: row.state,
    version: Number(row.version),
    lease: leaseOf(row),
    snapshot: row.snapshot,
    snapshotVersion: Number(row.snapshot_version ?? 0),
    events,
  };
}

function leaseOf(row: Row): StoredTask['lease'] {
  if (row.lease_holder === null) return null;
  return {
    holder: row.lease_holder,
    epoch: Number(row.lease_epoch),
    pending: Boolean(Number(row.pending)),
    remainingMs: Number(row.remaining_ms),
    cancelAgeMs: row.cancel_in_ms === null ? null : Math.max(0, -Number(row.cancel_in_ms)),
  };
}

function toEvent(row: Row, seq: number): EventRow {
  const { id, kind, payload, message_id, holder, epoch } = row;
  return { taskId: id, seq, kind, payload, messageId: message_id, holder, epoch: Number(epoch) };
}
