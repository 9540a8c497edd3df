import type { OpenRefusal } from '@a2a-cluster/core';
import { isInterruptedName, isTerminalName } from '@a2a-cluster/core';
import { sqlStateOf } from '../errors/postgresql-faults.js';
import type {
  JournalStatements,
  OpenOutcome,
  OpenTurn,
  WriteOutcome,
} from '../statements/journal-statements.js';
import type { Retrying } from './retry.js';
import { cancel, cancelValues } from './sql/cancel.js';
import { commit, commitValues } from './sql/commit.js';
import { createTask, createTaskValues } from './sql/create-task.js';
import { leaselessValues, sweepLeaseless, toEnded, type LeaselessRow } from './sql/leaseless.js';
import { findOwnWrite, look, toLook, type LookRow } from './sql/look.js';
import { openRefusal, openTurn, openTurnValues, type OpenRefusalRow } from './sql/open-turn.js';
import { sweep, sweepOrphans, sweepValues, toSwept, type SweepRow } from './sql/sweep.js';

/** How often an open whose refusal has dissolved is tried again before it counts as busy. */
const OPEN_ATTEMPTS = 5;

/** The journal's statements on PostgreSQL. */
export function createPostgresJournal(database: Retrying): JournalStatements {
  return {
    async createTask(create) {
      try {
        await database.run(createTask, createTaskValues(create));
        return { ok: true, version: create.events.length };
      } catch (error) {
        if (isUniqueViolation(error)) return { ok: false, refusal: 'exists' };
        throw error;
      }
    },
    commit: async (write) => outcomeOf(await database.run(commit, commitValues(write))),
    openTurn: (open) => openOrRefuse(database, open),
    cancel: async (write) => outcomeOf(await database.run(cancel, cancelValues(write))),
    async sweep(batch) {
      const rows = await database.run<SweepRow>(sweep, sweepValues(batch));
      const swept = rows.flatMap(toSwept);
      return { swept, candidates: Math.max(rows[0]?.candidates ?? 0, swept.length) };
    },
    async sweepOrphans(limit) {
      const rows = await database.run<{ task_id: string }>(sweepOrphans, [limit]);
      return rows.map((row) => row.task_id);
    },
    async sweepLeaseless(batch) {
      return (await database.run<LeaselessRow>(sweepLeaseless, leaselessValues(batch))).map(toEnded);
    },
    async look({ taskId, scope }) {
      const [row] = await database.run<LookRow>(look, [taskId, scope?.tenant ?? null, scope?.owner ?? null]);
      return row ? toLook(row) : null;
    },
    async findOwnWrite({ taskId, seq, writeId }) {
      const rows = await database.run(findOwnWrite, [taskId, seq, writeId]);
      return rows.length > 0;
    },
  };
}

function outcomeOf(rows: readonly unknown[]): WriteOutcome {
  const [row] = rows as { version: number }[];
  return row ? { ok: true, version: row.version } : { ok: false };
}

/** Unique violation, whichever index: a fresh id that is taken, or a message that is in the log. */
function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && sqlStateOf(error.cause) === '23505';
}

async function openOrRefuse(database: Retrying, open: OpenTurn): Promise<OpenOutcome> {
  for (let attempt = 1; ; attempt += 1) {
    let violation: unknown;
    try {
      const [row] = await database.run<{ epoch: number }>(openTurn, openTurnValues(open));
      if (row) return { ok: true, epoch: row.epoch };
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      violation = error;
    }
    const { taskId, scope, event, maxMessages = null } = open;
    const values = [taskId, scope.tenant, scope.owner, event.messageId ?? null, maxMessages];
    const [row] = await database.run<OpenRefusalRow>(openRefusal, values);
    const refusal = classify(row, open);
    if (refusal !== null) return { ok: false, ...refusal };
    // What refused the turn is gone by now (a lease was released, or expired into one we may take).
    if (violation !== undefined) throw violation;
    if (attempt === OPEN_ATTEMPTS)
      return { ok: false, refusal: 'busy', epoch: row?.epoch ?? row?.version ?? 0 };
  }
}

/** Null: nothing speaks against the turn any more. */
function classify(row: OpenRefusalRow | undefined, open: OpenTurn): OpenRefusal | null {
  if (row === undefined) return { refusal: 'not_found' };
  const { message_seq: seq, message_epoch, state, epoch } = row;
  if (seq !== null) return { refusal: 'duplicate', seq, epoch: message_epoch ?? seq };
  if (open.contextId !== null && open.contextId !== row.context_id) return { refusal: 'context_mismatch' };
  if (isTerminalName(state)) return { refusal: 'terminal', state };
  if (row.is_full) return { refusal: 'too_many_messages' };
  if (epoch === null) return null;
  const pending = row.pending === true;
  if ((row.remaining_ms ?? 0) > 0) {
    const parked = isInterruptedName(state) && !pending;
    return { refusal: parked ? 'parked_busy' : 'busy', epoch };
  }
  if (pending || state !== 'TASK_STATE_INPUT_REQUIRED') return { refusal: 'abandoned', epoch };
  return open.takeOver ? null : { refusal: 'expired', epoch };
}
