import { isTerminalName, type Scope } from '@a2a-cluster/core';
import type {
  CancelWrite,
  CommitEvents,
  CreateOutcome,
  CreateTask,
  JournalStatements,
  Look,
  OpenOutcome,
  OpenTurn,
  WriteOutcome,
} from '../statements/journal-statements.js';
import { isFull, openRefusalOf } from '../statements/open-refusal.js';
import type { SqliteLane } from './connection.js';
import { sweepLeaseless } from './leaseless.js';
import { countMessages, lookAt, messageRow } from './reads.js';
import { NOW } from './rows.js';
import type { SqliteSession } from './session.js';
import { sweep, sweepOrphans } from './sweep.js';
import { appendEvents, grantLease, moveTask, writeSnapshot } from './writes.js';

/**
 * The journal's statements on SQLite. BEGIN IMMEDIATE takes the file's one write lock, so what a transaction reads
 * stays true until its COMMIT, and the lock order of protocol 3.3 has nothing to order.
 */
export function createSqliteJournal(lane: SqliteLane): JournalStatements {
  const write = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: true, work });
  const read = <T>(name: string, work: (session: SqliteSession) => T): Promise<T> =>
    lane.run({ name, writes: false, work });
  return {
    createTask: (create) => write('createTask', (session) => createTask(session, create)),
    commit: (commit) => write('commit', (session) => commitEvents(session, commit)),
    openTurn: (open) => write('openTurn', (session) => openTurn(session, open)),
    cancel: (cancel) => write('cancel', (session) => cancelTask(session, cancel)),
    sweep: (batch) => write('sweep', (session) => sweep(session, batch)),
    sweepOrphans: (limit) => write('sweepOrphans', (session) => sweepOrphans(session, limit)),
    sweepLeaseless: (batch) => write('sweepLeaseless', (session) => sweepLeaseless(session, batch)),
    look: (look) => read('look', (session) => lookAt(session, look)),
    findOwnWrite: ({ taskId, seq, writeId }) =>
      read('findOwnWrite', (session) => session.get(OWN_WRITE, taskId, seq, writeId) !== undefined),
  };
}

const OWN_WRITE = 'SELECT 1 FROM task_events WHERE task_id = ? AND seq = ? AND write_id = ?';

const CREATE = `
INSERT INTO tasks (id, tenant, owner, context_id, state, status_timestamp, version, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ${NOW}, ${NOW}) ON CONFLICT (id) DO NOTHING`;

function createTask(session: SqliteSession, create: CreateTask): CreateOutcome {
  const { taskId, scope, contextId, state, statusTimestamp, events, holder, ttlMs } = create;
  const { tenant, owner } = scope;
  const version = events.length;
  const made = session.run(CREATE, taskId, tenant, owner, contextId, state, statusTimestamp, version);
  if (made === 0) return { ok: false, refusal: 'exists' };
  appendEvents(session, { taskId, firstSeq: 1, holder, epoch: 1, events });
  if (create.snapshot !== null) writeSnapshot(session, { taskId, version }, create.snapshot);
  if (!create.terminal) grantLease(session, { taskId, scope, holder, ttlMs, epoch: 1, pending: false });
  return { ok: true, version };
}

function commitEvents(session: SqliteSession, commit: CommitEvents): WriteOutcome {
  const { taskId, expectedVersion, holder, epoch, events } = commit;
  const task = writable(session, { taskId, expectedVersion });
  if (task?.lease?.holder !== holder || task.lease.epoch !== epoch) return { ok: false };
  // Judged after BEGIN IMMEDIATE, so under the lock (protocol 3.2).
  if (task.lease.remainingMs <= 0) return { ok: false };
  appendEvents(session, { taskId, firstSeq: expectedVersion + 1, holder, epoch, events });
  const version = expectedVersion + events.length;
  moveTask(session, { taskId, version }, commit);
  return { ok: true, version };
}

function cancelTask(session: SqliteSession, cancel: CancelWrite): WriteOutcome {
  const { taskId, expectedVersion, statusTimestamp, holder, epoch, event } = cancel;
  if (!writable(session, cancel)) return { ok: false };
  const version = expectedVersion + 1;
  appendEvents(session, { taskId, firstSeq: version, holder, epoch, events: [event] });
  const state = 'TASK_STATE_CANCELED';
  const move = { state, statusTimestamp, terminal: true, clearsPending: true, snapshot: null };
  moveTask(session, { taskId, version }, move);
  return { ok: true, version };
}

/** The task, if it is at this version and has not ended: compare-and-swap, and terminal is final. */
function writable(
  session: SqliteSession,
  at: { readonly taskId: string; readonly expectedVersion: number; readonly scope?: Scope },
): Look | null {
  const task = lookAt(session, at);
  return task?.version === at.expectedVersion && !isTerminalName(task.state) ? task : null;
}

function openTurn(session: SqliteSession, open: OpenTurn): OpenOutcome {
  const { taskId, scope, event, holder, ttlMs } = open;
  const task = lookAt(session, open);
  // Before the duplicate: another owner's task says nothing, not even that it knows a message (I11).
  if (!task) return { ok: false, refusal: 'not_found' };
  const { messageId } = event;
  const { lease } = task;
  const refusal = openRefusalOf(
    {
      ...task,
      full: isFull({
        version: task.version,
        maxMessages: open.maxMessages,
        count: (most) => countMessages(session, taskId, most),
      }),
      message: messageId === undefined ? null : messageRow(session, taskId, messageId),
      lease: lease && { ...lease, expired: lease.remainingMs <= 0 },
    },
    open,
  );
  if (refusal) return { ok: false, ...refusal };
  const epoch = task.version + 1;
  appendEvents(session, { taskId, firstSeq: epoch, holder, epoch, events: [event] });
  const stays = { state: null, statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null };
  moveTask(session, { taskId, version: epoch }, stays);
  grantLease(session, { taskId, scope, holder, ttlMs, epoch, pending: true });
  return { ok: true, epoch };
}
