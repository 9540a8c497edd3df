import type { OpenOutcome } from '@a2a-cluster/db';
import { attempt, foundOwn, pause, rowsOf, type Attempt, type JournalContext } from './journal-context.js';
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
    if (opened.ok || opened.refusal !== 'abandoned' || !request.takeOver) return opened;
    if (sweeps === MOST_SWEEPS) return { ok: false, refusal: 'busy', epoch: opened.epoch };
    await sweepOne(request.taskId);
  }
}

async function openOnce(context: JournalContext, request: OpenRequest): Promise<OpenResult> {
  /** When the earliest attempt that may have landed was sent. */
  let sinceMs: number | null = null;
  for (let tries = 0; ; tries++) {
    const sentAtMs = context.clock.monotonicMs();
    const sent = await attempt(() => context.statements.openTurn(request));
    const judged = sent.kind === 'answer' ? await judge(sent.value) : sent;
    if (judged.kind === 'answer') {
      const { value } = judged;
      return value.ok
        ? announce(context, request, { epoch: value.epoch, sentAtMs: sinceMs ?? sentAtMs })
        : value;
    }
    if (sent.kind !== 'fault') sinceMs ??= sentAtMs;
    if (judged.kind !== 'lost' && tries + 1 === MOST_TRIES) throw judged.cause;
    await pause(context, tries);
  }

  /** A refusal after an uncertain attempt is confirmed by a look for our own row (protocol 3.6). */
  async function judge(outcome: OpenOutcome): Promise<Attempt<OpenOutcome>> {
    if (outcome.ok || (sinceMs === null && outcome.refusal !== 'duplicate'))
      return { kind: 'answer', value: outcome };
    return attempt(async () => {
      const epoch = await ownEpoch(context, request);
      return epoch === null ? outcome : { ok: true, epoch };
    });
  }
}

/** The epoch of our own opening where it stands in the log, else null. */
async function ownEpoch(context: JournalContext, request: OpenRequest): Promise<number | null> {
  const { taskId, event } = request;
  if (event.messageId === undefined) return null;
  const row = await context.log.findMessage({ taskId, messageId: event.messageId });
  if (row === null || !(await foundOwn(context, { taskId, seq: row.seq, events: [event] }))) return null;
  return row.epoch;
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
