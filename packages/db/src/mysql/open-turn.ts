import { isInterruptedName, isTerminalName, verdictOn, type OpenRefusal } from '@a2a-cluster/core';
import type { OpenOutcome, OpenTurn } from '../statements/journal-statements.js';
import { numberAt, textAt, type Row } from './rows.js';
import { statement, type Statement } from './texts.js';
import type { Transaction } from './transaction.js';
import { grantLease, insertEvents, updateTask } from './writes.js';

/** Admits a follow-up, or says why not, having written nothing (protocol 4). */
export async function openTurn(tx: Transaction, open: OpenTurn): Promise<OpenOutcome> {
  const [tasks = [], leases = [], messages = [], counts = []] = await tx.read(...lockForOpening(open));
  const task = tasks[0];
  const full = counts[0] !== undefined && numberAt(counts[0], 'messages') >= (open.maxMessages ?? Infinity);
  const refusal = refusalOf({ open, task, full, lease: leases[0], message: messages[0] });
  if (refusal) return { ok: false, ...refusal };
  const { taskId, scope, holder, ttlMs, event } = open;
  const epoch = numberAt(task ?? {}, 'version') + 1;
  await tx.commit([
    updateTask({ taskId, version: epoch, state: null, statusTimestamp: null }),
    grantLease({ taskId, scope, holder, epoch, pending: true, ttlMs }),
    ...insertEvents({ taskId, firstSeq: epoch, holder, epoch, events: [event] }),
  ]);
  return { ok: true, epoch };
}

/**
 * The task, its lease, and the message where it is in the log: that one is read without a lock, after the task's is
 * held, without which no message is written. `expired` is judged by the earliest time there is, the start of the
 * statement: a takeover may come late, never early.
 */
function lockForOpening({ taskId, scope, event, maxMessages }: OpenTurn): readonly Statement[] {
  return [
    statement(
      `SELECT tenant, owner, context_id, version, state FROM tasks
        WHERE id = ? AND tenant = ? AND owner = ? FOR UPDATE`,
      taskId,
      scope.tenant,
      scope.owner,
    ),
    statement(
      'SELECT epoch, pending, expires_at < NOW(6) AS expired FROM task_leases WHERE task_id = ? FOR UPDATE',
      taskId,
    ),
    statement(
      'SELECT seq, epoch FROM task_events WHERE task_id = ? AND message_id = ?',
      taskId,
      event.messageId ?? null,
    ),
    ...(maxMessages === undefined ? [] : [countMessages(taskId, maxMessages)]),
  ];
}

/** The user messages of a task, counted up to a limit, and not at all where it has fewer events than that. */
function countMessages(taskId: string, most: number): Statement {
  return statement(
    `SELECT COUNT(*) AS messages FROM (
       SELECT 1 FROM task_events WHERE task_id = ? AND message_id IS NOT NULL
          AND (SELECT version FROM tasks WHERE id = ?) >= ? LIMIT ?) AS counted`,
    taskId,
    taskId,
    most,
    most,
  );
}

interface OpenFacts {
  readonly open: OpenTurn;
  readonly full: boolean;
  readonly task: Row | undefined;
  readonly lease: Row | undefined;
  readonly message: Row | undefined;
}

/** The first reason to refuse, or null. A duplicate comes before all that depends on the task's present state. */
function refusalOf({ open, task, full, lease, message }: OpenFacts): OpenRefusal | null {
  const { scope, contextId } = open;
  // Compared again: the collation ignores trailing spaces.
  if (!task || task['tenant'] !== scope.tenant || task['owner'] !== scope.owner)
    return { refusal: 'not_found' };
  if (message)
    return { refusal: 'duplicate', epoch: numberAt(message, 'epoch'), seq: numberAt(message, 'seq') };
  if (contextId !== null && task['context_id'] !== contextId) return { refusal: 'context_mismatch' };
  const state = textAt(task, 'state');
  if (isTerminalName(state)) return { refusal: 'terminal', state };
  if (full) return { refusal: 'too_many_messages' };
  return lease ? leaseRefusal({ state, lease, takeOver: open.takeOver }) : null;
}

function leaseRefusal(facts: {
  readonly state: string;
  readonly lease: Row;
  readonly takeOver: boolean;
}): OpenRefusal | null {
  const { state, lease, takeOver } = facts;
  const epoch = numberAt(lease, 'epoch');
  const pending = numberAt(lease, 'pending') !== 0;
  if (lease['expired'] !== 1)
    return { refusal: isInterruptedName(state) && !pending ? 'parked_busy' : 'busy', epoch };
  if (verdictOn({ state, pending }) === 'fail') return { refusal: 'abandoned', epoch };
  return takeOver ? null : { refusal: 'expired', epoch };
}
