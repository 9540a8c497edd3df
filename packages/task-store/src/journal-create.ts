import { attempt, foundOwn, pause, rowsOf, type JournalContext } from './journal-context.js';
import type { CreateRequest, CreateResult } from './journal.js';

/** The epoch of a task's first turn: the seq of the event that opened it. */
const FIRST_EPOCH = 1;

/** Writes a new task with its first events and its lease: see `Journal.create`. */
export async function createTask(context: JournalContext, request: CreateRequest): Promise<CreateResult> {
  const { lost, ...statement } = request;
  let uncertainSinceMs: number | null = null;
  let faultsSinceMs: number | null = null;
  for (let tries = 0; ; tries++) {
    const sentAtMs = context.clock.monotonicMs();
    const sent = await attempt(() => context.statements.createTask(statement), lost);
    if (sent.kind === 'lost') return { ok: false, refusal: 'lease_lost' };
    if (sent.kind === 'answer' && sent.value.ok)
      return announce(context, request, uncertainSinceMs ?? sentAtMs);
    if (sent.kind === 'answer') {
      const own = await attempt(
        () => foundOwn(context, { taskId: request.taskId, seq: 1, events: request.events }),
        lost,
      );
      if (own.kind === 'answer') {
        if (own.value) return announce(context, request, uncertainSinceMs ?? sentAtMs);
        return { ok: false, refusal: 'conflict' };
      }
      if (own.kind === 'lost') return { ok: false, refusal: 'lease_lost' };
    }
    if (sent.kind === 'unknown') uncertainSinceMs ??= sentAtMs;
    if (sent.kind === 'fault') {
      faultsSinceMs ??= sentAtMs;
      if (sentAtMs - faultsSinceMs > context.ttlMs) throw sent.cause;
    }
    await pause(context, tries, lost);
  }
}

function announce(context: JournalContext, request: CreateRequest, sentAtMs: number): CreateResult {
  const { taskId, scope, holder, events, terminal, state } = request;
  const version = events.length;
  context.committed({
    taskId,
    scope,
    rows: rowsOf({ taskId, firstSeq: 1, events, holder, epoch: FIRST_EPOCH }),
    head: {
      taskId,
      version,
      state,
      lease: terminal ? null : { holder, epoch: FIRST_EPOCH, cancelAgeMs: null },
    },
  });
  return { ok: true, version, sentAtMs };
}
