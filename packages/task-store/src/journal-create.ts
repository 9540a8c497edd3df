import { traced, type OpenSpan } from '@a2a-cluster/core';
import type { CreateOutcome } from '@a2a-cluster/db';
import { attempt, foundOwn, measureCommit, pause, rowsOf, type JournalContext } from './journal-context.js';
import type { CreateRequest, CreateResult } from './journal.js';

/** The epoch of a task's first turn: the seq of the event that opened it. */
const FIRST_EPOCH = 1;

/** Writes a new task with its first events and its lease: see `Journal.create`. */
export function createTask(context: JournalContext, request: CreateRequest): Promise<CreateResult> {
  return traced('a2a.commit', async (span) => {
    span.note(() => ({
      'a2a.task_id': request.taskId,
      'a2a.epoch': FIRST_EPOCH,
      'a2a.replica_id': request.holder,
      'a2a.events': request.events.length,
    }));
    const created = await write(context, request);
    noteOutcome(span, created);
    return created;
  });
}

function noteOutcome(span: OpenSpan, created: CreateResult): void {
  span.note(() => (created.ok ? { 'a2a.seq': created.version } : { 'a2a.refusal': created.refusal }));
}

async function write(context: JournalContext, request: CreateRequest): Promise<CreateResult> {
  const { lost, ...statement } = request;
  const beganAtMs = context.clock.monotonicMs();
  const own = { taskId: request.taskId, seq: 1, events: request.events };
  const onLate = (late: CreateOutcome): void => void (late.ok && announce(context, request));
  /** When the earliest attempt that may have landed was sent. */
  let sinceMs: number | null = null;
  let faultsSinceMs: number | null = null;
  for (let tries = 0; ; tries++) {
    const sentAtMs = context.clock.monotonicMs();
    const sent = await attempt(() => context.statements.createTask(statement), { lost, onLate });
    // "Exists" may be an earlier attempt of ours: there is no other look at it than for the row.
    const judged =
      sent.kind === 'answer' && !sent.value.ok ? await attempt(() => foundOwn(context, own), { lost }) : sent;
    if (judged.kind === 'lost') return { ok: false, refusal: 'lease_lost' };
    if (judged.kind === 'answer') {
      if (judged.value === false) return { ok: false, refusal: 'conflict' };
      measureCommit(context, { beganAtMs, events: request.events.length });
      announce(context, request);
      return { ok: true, version: request.events.length, sentAtMs: sinceMs ?? sentAtMs };
    }
    if (sent.kind !== 'fault') sinceMs ??= sentAtMs;
    if (judged.kind === 'fault') {
      faultsSinceMs ??= sentAtMs;
      if (sentAtMs - faultsSinceMs > context.ttlMs) throw judged.cause;
    }
    await pause(context, tries, lost);
  }
}

function announce(context: JournalContext, request: CreateRequest): void {
  const { taskId, scope, holder, events, terminal, state } = request;
  context.committed({
    taskId,
    scope,
    rows: rowsOf({ taskId, firstSeq: 1, events, holder, epoch: FIRST_EPOCH }),
    head: {
      taskId,
      version: events.length,
      state,
      lease: terminal ? null : { holder, epoch: FIRST_EPOCH, cancelAgeMs: null },
    },
  });
}
