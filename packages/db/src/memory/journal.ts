import { isTerminalName, sameScope } from '@a2a-cluster/core';
import type { OpenRefusal } from '@a2a-cluster/core';
import type {
  CancelWrite,
  CommitEvents,
  CreateOutcome,
  CreateTask,
  JournalStatements,
  Look,
  OpenOutcome,
  OpenTurn,
  TaskMove,
  WriteOutcome,
} from '../statements/journal-statements.js';
import { isFull, openRefusalOf } from '../statements/open-refusal.js';
import { sweepLeaseless } from './leaseless.js';
import { sweep, sweepOrphans } from './sweep.js';
import { cancelAgeOf, isExpired } from './tables.js';
import type { MemoryTables, TaskRecord } from './tables.js';

/** The journal over {@link MemoryTables} (protocol 3 and 4). */
export function createMemoryJournal(tables: MemoryTables): JournalStatements {
  return {
    createTask: async (create) => createTask(tables, create),
    commit: async (commit) => commitEvents(tables, commit),
    openTurn: async (open) => openTurn(tables, open),
    cancel: async (cancel) => cancelTask(tables, cancel),
    sweep: async (batch) => sweep(tables, batch),
    sweepOrphans: async (limit) => sweepOrphans(tables, limit),
    sweepLeaseless: async (batch) => sweepLeaseless(tables, batch),
    look: async ({ taskId, scope }) => {
      const task = tables.tasks.get(taskId);
      return task && (!scope || sameScope(task.scope, scope)) ? lookAt(tables, task) : null;
    },
    findOwnWrite: async ({ taskId, seq, writeId }) =>
      tables.rowsAfter(taskId, seq - 1)[0]?.writeId === writeId,
  };
}

/** The task and its lease as they are now. */
export function lookAt(tables: MemoryTables, task: TaskRecord): Look {
  const lease = tables.leases.get(task.taskId);
  const nowMs = tables.nowMs();
  return {
    scope: task.scope,
    contextId: task.contextId,
    state: task.state,
    version: task.version,
    lease: lease
      ? {
          holder: lease.holder,
          epoch: lease.epoch,
          pending: lease.pending,
          remainingMs: lease.expiresAtMs - nowMs,
          cancelAgeMs: cancelAgeOf(lease, nowMs),
        }
      : null,
  };
}

function createTask(tables: MemoryTables, create: CreateTask): CreateOutcome {
  const { taskId, scope, contextId, holder, state, statusTimestamp, events } = create;
  if (tables.tasks.has(taskId)) return { ok: false, refusal: 'exists' };
  tables.append({ taskId, holder, epoch: 1 }, events);
  const version = events.length;
  const { tenant, owner } = scope;
  const createdAtMs = Math.floor(tables.nowMs());
  tables.tasks.set(taskId, {
    ...{ taskId, createdAtMs, updatedAtMs: createdAtMs },
    scope: { tenant, owner },
    contextId,
    state,
    statusTimestamp,
    version,
    updatedAtMs: tables.nowMs(),
  });
  if (create.snapshot !== null) tables.snapshots.set(taskId, { version, payload: create.snapshot });
  if (!create.terminal)
    grant(tables, { taskId, scope, holder, ttlMs: create.ttlMs }, { epoch: 1, pending: false });
  return { ok: true, version };
}

function commitEvents(tables: MemoryTables, commit: CommitEvents): WriteOutcome {
  const { taskId, expectedVersion, holder, epoch } = commit;
  const task = writable(tables, taskId, expectedVersion);
  const lease = tables.leases.get(taskId);
  if (!task || lease?.holder !== holder || lease.epoch !== epoch) return { ok: false };
  if (isExpired(lease, tables.nowMs())) return { ok: false };
  tables.append({ taskId, holder, epoch }, commit.events);
  moveTask(tables, task, commit);
  return { ok: true, version: task.version };
}

function cancelTask(tables: MemoryTables, cancel: CancelWrite): WriteOutcome {
  const { taskId, scope, expectedVersion, event, holder, epoch, statusTimestamp } = cancel;
  const task = writable(tables, taskId, expectedVersion);
  if (!task || !sameScope(task.scope, scope)) return { ok: false };
  tables.append({ taskId, holder, epoch }, [event]);
  moveTask(tables, task, {
    state: 'TASK_STATE_CANCELED',
    statusTimestamp,
    terminal: true,
    clearsPending: true,
    snapshot: null,
  });
  return { ok: true, version: task.version };
}

/** The task, if it is at this version and has not ended: compare-and-swap, and terminal is final. */
function writable(tables: MemoryTables, taskId: string, version: number): TaskRecord | null {
  const task = tables.tasks.get(taskId);
  return task && task.version === version && !isTerminalName(task.state) ? task : null;
}

/** What a batch that is in the log now does to the rows beside it. */
function moveTask(tables: MemoryTables, task: TaskRecord, move: TaskMove): void {
  task.version = tables.logOf(task.taskId).length;
  task.updatedAtMs = tables.nowMs();
  task.state = move.state ?? task.state;
  task.statusTimestamp = move.statusTimestamp ?? task.statusTimestamp;
  if (move.snapshot !== null) {
    tables.snapshots.set(task.taskId, { version: task.version, payload: move.snapshot });
  }
  const lease = tables.leases.get(task.taskId);
  if (move.terminal) tables.leases.delete(task.taskId);
  else if (lease && move.clearsPending) lease.pending = false;
}

function openTurn(tables: MemoryTables, open: OpenTurn): OpenOutcome {
  const task = tables.tasks.get(open.taskId);
  // Before the duplicate: another owner's task says nothing, not even that it knows a message (I11).
  if (!task || !sameScope(task.scope, open.scope)) return { ok: false, refusal: 'not_found' };
  const refusal = refusalOf(tables, task, open);
  if (refusal) return { ok: false, ...refusal };
  const epoch = task.version + 1;
  tables.append({ taskId: task.taskId, holder: open.holder, epoch }, [open.event]);
  task.version = epoch;
  task.updatedAtMs = tables.nowMs();
  grant(tables, open, { epoch, pending: true });
  return { ok: true, epoch };
}

function refusalOf(tables: MemoryTables, task: TaskRecord, open: OpenTurn): OpenRefusal | null {
  const { messageId } = open.event;
  const { state, contextId } = task;
  const lease = tables.leases.get(task.taskId);
  const facts = {
    state,
    contextId,
    full: isFull({
      version: task.version,
      maxMessages: open.maxMessages,
      count: () => tables.logOf(task.taskId).filter((row) => row.messageId !== null).length,
    }),
    message: (messageId !== undefined && tables.messageRow(task.taskId, messageId)) || null,
    lease: lease ? { ...lease, expired: isExpired(lease, tables.nowMs()) } : null,
  };
  return openRefusalOf(facts, open);
}

function grant(
  tables: MemoryTables,
  to: Pick<OpenTurn, 'taskId' | 'scope' | 'holder' | 'ttlMs'>,
  turn: { readonly epoch: number; readonly pending: boolean },
): void {
  const nowMs = tables.nowMs();
  tables.leases.set(to.taskId, {
    taskId: to.taskId,
    scope: { tenant: to.scope.tenant, owner: to.scope.owner },
    holder: to.holder,
    epoch: turn.epoch,
    pending: turn.pending,
    acquiredAtMs: nowMs,
    expiresAtMs: nowMs + to.ttlMs,
    cancelRequestedAtMs: null,
  });
}
