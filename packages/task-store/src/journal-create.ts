import type { CreateOutcome } from '@a2a-cluster/db';
import { attempt, foundOwn, pause, rowsOf, type JournalContext } from './journal-context.js';
import type { CreateRequest, CreateResult } from './journal.js';

/** The epoch of a task's first turn: the seq of the event that opened it. */
const FIRST_EPOCH = 1;

/** Writes a new task with its first events and its lease: see `Journal.create`. */
export async function createTask(context: JournalContext, request: CreateRequest): Promise<CreateResult> {
  const { lost, ...statement } = request;
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
