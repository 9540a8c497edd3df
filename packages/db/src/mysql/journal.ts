import { isTerminalName, type Logger } from '@a2a-cluster/core';
import type {
  CancelWrite,
  CommitEvents,
  CreateOutcome,
  CreateTask,
  JournalStatements,
  Look,
  WriteOutcome,
} from '../statements/journal-statements.js';
import { errnoOf } from './faults.js';
import { sweepLeaseless } from './leaseless.js';
import { openTurn } from './open-turn.js';
import type { Pool } from './pool.js';
import { read } from './reads.js';
import { CANCEL_US, REMAINING_US, leaseOf, numberAt, textAt } from './rows.js';
import { sweep, sweepOrphans } from './sweep.js';
import { statement, type Statement } from './texts.js';
import { transact, type Transaction } from './transaction.js';
import { endLease, grantLease, insertEvents, replaceSnapshot, updateTask } from './writes.js';

/** What {@link createJournal} is made of. */
export interface JournalOptions {
  /** For write transactions and nothing else: its connections take several statements in one text. */
  readonly writes: Pool;
  /** For single statements. */
  readonly reads: Pool;
  readonly logger: Logger;
}

/** Duplicate key. */
const ER_DUP_ENTRY = 1062;

/** The journal on MySQL and MariaDB (protocol 3). */
export function createJournal({ writes, reads, logger }: JournalOptions): JournalStatements {
  return {
    createTask: (create) => createTask({ writes, reads, create }),
    commit: (commit) => transact(writes, (tx) => commitEvents({ tx, commit, logger })),
    openTurn: (open) => transact(writes, (tx) => openTurn(tx, open)),
    cancel: (cancel) => transact(writes, (tx) => writeCancel(tx, cancel)),
    sweep: (batch) => sweep({ writes, reads, batch }),
    sweepOrphans: (limit) => sweepOrphans({ writes, reads, limit }),
    sweepLeaseless: (batch) => sweepLeaseless({ writes, reads, batch }),
    look: (find) => look(reads, find),
    async findOwnWrite({ taskId, seq, writeId }) {
      const rows = await read(
        reads,
        statement('SELECT write_id FROM task_events WHERE task_id = ? AND seq = ?', taskId, seq),
      );
      return rows[0]?.['write_id'] === writeId;
    },
  };
}

async function createTask(parts: {
  readonly writes: Pool;
  readonly reads: Pool;
  readonly create: CreateTask;
}): Promise<CreateOutcome> {
  const { writes, reads, create } = parts;
  try {
    await transact(writes, (tx) => tx.commit(createStatements(create, tx.maxPacketBytes)));
    return { ok: true, version: create.events.length };
  } catch (error) {
    // Which key it was is not in the error: look whether it is the task's.
    const duplicate = error instanceof Error && errnoOf(error.cause) === ER_DUP_ENTRY;
    if (duplicate && (await look(reads, { taskId: create.taskId }))) return { ok: false, refusal: 'exists' };
    throw error;
  }
}

function createStatements(create: CreateTask, maxPacketBytes: number): readonly Statement[] {
  const { taskId, scope, contextId, state, statusTimestamp, holder, ttlMs, events, terminal } = create;
  const version = events.length;
  const task = statement(
    `INSERT INTO tasks (id, tenant, owner, context_id, state, status_timestamp, version, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, SYSDATE(3), SYSDATE(3))`,
    taskId,
    scope.tenant,
    scope.owner,
    contextId,
    state,
    statusTimestamp,
    version,
  );
  return [
    task,
    ...(terminal ? [] : [grantLease({ taskId, scope, holder, epoch: 1, pending: false, ttlMs })]),
    ...insertEvents({ taskId, firstSeq: 1, holder, epoch: 1, events }),
    ...replaceSnapshot({ taskId, version, payload: create.snapshot }, maxPacketBytes),
  ];
}

/** Trip 1 of a write: the task, then its lease. Locking reads see the newest version, and `live` is judged after. */
function lockTask(taskId: string): readonly [Statement, Statement] {
  return [
    statement('SELECT tenant, owner, version, state FROM tasks WHERE id = ? FOR UPDATE', taskId),
    statement(
      'SELECT holder, epoch, expires_at > SYSDATE(6) AS live FROM task_leases WHERE task_id = ? FOR UPDATE',
      taskId,
    ),
  ];
}

async function commitEvents(parts: {
  readonly tx: Transaction;
  readonly commit: CommitEvents;
  readonly logger: Logger;
}): Promise<WriteOutcome> {
  const { tx, commit, logger } = parts;
  const { taskId, expectedVersion, holder, epoch, events } = commit;
  const [tasks = [], leases = []] = await tx.read(...lockTask(taskId));
  const task = tasks[0];
  const lease = leases[0];
  if (!task || numberAt(task, 'version') !== expectedVersion || isTerminalName(textAt(task, 'state')))
    return { ok: false };
  const ours = lease?.['holder'] === holder && lease['epoch'] === epoch && lease['live'] === 1;
  if (!ours) return { ok: false };

  const version = expectedVersion + events.length;
  const snapshot = replaceSnapshot({ taskId, version, payload: commit.snapshot }, tx.maxPacketBytes);
  if (commit.snapshot !== null && snapshot.length === 0)
    logger.warn({ taskId, version }, 'the snapshot is longer than max_allowed_packet: the older one stays');
  await tx.commit([
    updateTask({ taskId, version, state: commit.state, statusTimestamp: commit.statusTimestamp }),
    ...insertEvents({ taskId, firstSeq: expectedVersion + 1, holder, epoch, events }),
    ...snapshot,
    ...endOfBatch(commit),
  ]);
  return { ok: true, version };
}

function endOfBatch({ taskId, terminal, clearsPending }: CommitEvents): readonly Statement[] {
  if (terminal) return [endLease(taskId)];
  return clearsPending ? [statement('UPDATE task_leases SET pending = 0 WHERE task_id = ?', taskId)] : [];
}

async function writeCancel(tx: Transaction, cancel: CancelWrite): Promise<WriteOutcome> {
  const { taskId, scope, expectedVersion, event, statusTimestamp, holder, epoch } = cancel;
  const [tasks = []] = await tx.read(...lockTask(taskId));
  const task = tasks[0];
  const theirs = task?.['tenant'] === scope.tenant && task['owner'] === scope.owner;
  if (
    !task ||
    !theirs ||
    numberAt(task, 'version') !== expectedVersion ||
    isTerminalName(textAt(task, 'state'))
  )
    return { ok: false };
  const version = expectedVersion + 1;
  await tx.commit([
    updateTask({ taskId, version, state: 'TASK_STATE_CANCELED', statusTimestamp }),
    ...insertEvents({ taskId, firstSeq: version, holder, epoch, events: [event] }),
    endLease(taskId),
  ]);
  return { ok: true, version };
}

async function look(reads: Pool, find: Parameters<JournalStatements['look']>[0]): Promise<Look | null> {
  const rows = await read(
    reads,
    statement(
      `SELECT t.tenant, t.owner, t.context_id, t.state, t.version, l.holder, l.epoch, l.pending,
        ${REMAINING_US} AS remaining_us, ${CANCEL_US} AS cancel_us
        FROM tasks t LEFT JOIN task_leases l ON l.task_id = t.id WHERE t.id = ?`,
      find.taskId,
    ),
  );
  const row = rows[0];
  if (!row) return null;
  const scope = { tenant: textAt(row, 'tenant'), owner: textAt(row, 'owner') };
  const foreign = find.scope && (find.scope.tenant !== scope.tenant || find.scope.owner !== scope.owner);
  if (foreign) return null;
  return {
    scope,
    contextId: textAt(row, 'context_id'),
    state: textAt(row, 'state'),
    version: numberAt(row, 'version'),
    lease: leaseOf(row),
  };
}
