import type { OpenOutcome } from '@a2a-cluster/db';
import { attempt, foundOwn, pause, rowsOf, type JournalContext } from './journal-context.js';
import type { OpenRequest, OpenResult } from './journal.js';

/** Attempts of a write without a lease before a fault is the caller's. */
const MOST_TRIES = 5;

/** How often an opening may end an abandoned turn before it answers "busy": once is the rule, twice a race. */
const MOST_SWEEPS = 3;

/** What the opener needs of the sweeper: ending one abandoned turn. */
export type SweepOne = (taskId: string) => Promise<void>;

/** Takes the lease for a follow-up: see `Journal.openTurn`. */
export async function openTurn(
  context: JournalContext,
  request: OpenRequest,
  sweepOne: SweepOne,
): Promise<OpenResult> {
  for (let sweeps = 0; ; sweeps++) {
    const opened = await openOnce(context, request);
    if (opened.ok || opened.refusal !== 'abandoned') return opened;
    if (!request.takeOver || sweeps === MOST_SWEEPS)
      return { ok: false, refusal: 'busy', epoch: opened.epoch };
    await sweepOne(request.taskId);
  }
}

async function openOnce(context: JournalContext, request: OpenRequest): Promise<OpenResult> {
  let uncertainSinceMs: number | null = null;
  for (let tries = 0; ; tries++) {
    const sentAtMs = context.clock.monotonicMs();
    const sent = await attempt(() => context.statements.openTurn(request));
    if (sent.kind === 'answer') {
      const own = await ownOpening(context, request, sent.value);
      if (own === null) return sent.value as OpenResult & { ok: false };
      return announce(context, request, { epoch: own, sentAtMs: uncertainSinceMs ?? sentAtMs });
    }
    if (sent.kind === 'unknown') uncertainSinceMs ??= sentAtMs;
    if (sent.kind !== 'lost' && tries + 1 === MOST_TRIES) throw sent.cause;
    await pause(context, tries);
  }
}

/** The epoch of our own opening, also when a second attempt finds the first one's row; else null. */
async function ownOpening(
  context: JournalContext,
  request: OpenRequest,
  outcome: OpenOutcome,
): Promise<number | null> {
  if (outcome.ok) return outcome.epoch;
  if (outcome.refusal !== 'duplicate') return null;
  const own = { taskId: request.taskId, seq: outcome.seq, events: [request.event] };
  return (await foundOwn(context, own)) ? outcome.epoch : null;
}

function announce(
  context: JournalContext,
  request: OpenRequest,
  opened: { readonly epoch: number; readonly sentAtMs: number },
): OpenResult {
  const { taskId, scope, holder, event } = request;
  const { epoch, sentAtMs } = opened;
  context.committed({
    taskId,
    scope,
    rows: rowsOf({ taskId, firstSeq: epoch, events: [event], holder, epoch }),
    // The statement does not say which of the two interrupted states it was: nobody ends a stream by this head.
    head: {
      taskId,
      version: epoch,
      state: 'TASK_STATE_INPUT_REQUIRED',
      lease: { holder, epoch, cancelAgeMs: null },
    },
  });
  return { ok: true, epoch, sentAtMs };
}
