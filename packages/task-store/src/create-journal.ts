import {
  createSilentLogger,
  SILENT_TELEMETRY,
  traced,
  type Clock,
  type Logger,
  type Telemetry,
} from '@a2a-cluster/core';
import type {
  CancelWrite,
  Database,
  EndedLeaseless,
  LeaselessBatch,
  SweepBatch,
  SweepOutcome,
  SweptLease,
} from '@a2a-cluster/db';
import { FAILURE_TEXT } from '@a2a-cluster/core';
import { commitEvents } from './journal-commit.js';
import { attempt, foundOwn, pause, rowsOf, type JournalContext } from './journal-context.js';
import { createTask } from './journal-create.js';
import { openTurn } from './journal-open.js';
import type { CancelResult, CommitListener, Journal } from './journal.js';

/** What a journal is made of. */
export interface JournalOptions {
  readonly database: Pick<Database, 'journal' | 'log'>;
  readonly clock: Clock;
  readonly logger?: Logger;
  /** The replica that writes: the holder of its leases, `<REPLICA_ID>-<boot>`. */
  readonly holder: string;
  /** The leases' TTL: how long a failing database is tried before a turn is given up. */
  readonly ttlMs: number;
  /** Told of every commit, once, after it. */
  readonly onCommitted: CommitListener;
  /** Told of commits, of writes that were refused and of leases that were swept. Default: nobody. */
  readonly telemetry?: Telemetry;
}

/** Ids of tasks in a span. */
const MOST_IDS = 20;

/** Attempts of a cancel before a fault is the caller's. */
const MOST_CANCEL_TRIES = 5;

/** The journal over a database's statements. */
export function createJournal(options: JournalOptions): Journal {
  const context: JournalContext = {
    statements: options.database.journal,
    log: options.database.log,
    clock: options.clock,
    logger: options.logger ?? createSilentLogger(),
    ttlMs: options.ttlMs,
    committed: guarded(options),
    telemetry: options.telemetry ?? SILENT_TELEMETRY,
  };
  const sweepOne = async (taskId: string): Promise<void> => {
    const statusTimestamp = options.clock.wallIso();
    await sweep(context, {
      limit: 1,
      sweeper: options.holder,
      statusTimestamp,
      text: FAILURE_TEXT.replica_lost,
      taskId,
    });
  };
  return {
    create: (request) => createTask(context, request),
    commit: (request) => commitEvents(context, request),
    openTurn: (request) => openTurn(context, request, sweepOne),
    cancel: (request) => cancel(context, request),
    sweep: (batch) => sweep(context, batch),
    sweepOrphans: (limit) => context.statements.sweepOrphans(limit),
    sweepLeaseless: (batch) => sweepLeaseless(context, batch),
  };
}

/** A listener that throws must not turn a stored write into a failed one. */
function guarded(options: JournalOptions): CommitListener {
  return (committed) => {
    try {
      options.onCommitted(committed);
    } catch (error) {
      options.logger?.error({ err: error, taskId: committed.taskId }, 'a commit listener failed');
    }
  };
}

function cancel(context: JournalContext, request: CancelWrite): Promise<CancelResult> {
  return traced('a2a.commit', async (span) => {
    const { taskId, epoch, holder, expectedVersion } = request;
    span.note(() => ({
      'a2a.task_id': taskId,
      'a2a.epoch': epoch,
      'a2a.replica_id': holder,
      'a2a.events': 1,
    }));
    const result = await writeCancel(context, request);
    span.note(() =>
      result.ok ? { 'a2a.seq': result.version } : { 'a2a.refusal': `not at ${expectedVersion}` },
    );
    return result;
  });
}

async function writeCancel(context: JournalContext, request: CancelWrite): Promise<CancelResult> {
  const own = { taskId: request.taskId, seq: request.expectedVersion + 1, events: [request.event] };
  let uncertain = false;
  for (let tries = 0; ; tries++) {
    const sent = await attempt(() => context.statements.cancel(request));
    const refused = sent.kind === 'answer' && !sent.value.ok;
    const judged = refused && uncertain ? await attempt(() => foundOwn(context, own)) : sent;
    if (judged.kind === 'answer') {
      const stored = judged.value === true || (judged.value !== false && judged.value.ok);
      return stored ? announceCancel(context, request) : { ok: false };
    }
    if (sent.kind === 'unknown') uncertain = true;
    if (judged.kind !== 'lost' && tries + 1 === MOST_CANCEL_TRIES) throw judged.cause;
    await pause(context, tries);
  }
}

function announceCancel(context: JournalContext, request: CancelWrite): CancelResult {
  const { taskId, scope, expectedVersion, event, holder, epoch } = request;
  const version = expectedVersion + 1;
  context.committed({
    taskId,
    scope,
    rows: rowsOf({ taskId, firstSeq: version, events: [event], holder, epoch }),
    head: { taskId, version, state: 'TASK_STATE_CANCELED', lease: null },
  });
  return { ok: true, version };
}

function sweep(context: JournalContext, batch: SweepBatch): Promise<SweepOutcome> {
  return traced('a2a.sweep', async (span) => {
    const outcome = await context.statements.sweep(batch);
    for (const swept of outcome.swept) announceSwept(context, batch, swept);
    span.note(() => ({
      'a2a.replica_id': batch.sweeper,
      'a2a.sweep.candidates': outcome.candidates,
      'a2a.sweep.failed': outcome.swept.filter(({ failed }) => failed !== null).length,
      'a2a.sweep.dropped': outcome.swept.filter(({ failed }) => failed === null).length,
      // A mass death must not make a span of megabytes.
      'a2a.task_id': outcome.swept.slice(0, MOST_IDS).map(({ taskId }) => taskId),
    }));
    return outcome;
  });
}

function announceSwept(context: JournalContext, batch: SweepBatch, swept: SweptLease): void {
  const { taskId, scope, epoch, holder, failed, expiredForMs } = swept;
  context.telemetry.count('leases_swept_total', { verdict: failed === null ? 'dropped' : 'failed' });
  context.telemetry.observe('sweep_lag_seconds', expiredForMs / 1_000);
  if (failed === null) {
    context.logger.info({ taskId, epoch, holder }, 'dropped the lease of a turn that had ended');
    return;
  }
  context.logger.warn({ taskId, epoch, holder }, 'ended the turn of a replica that was lost');
  announceFailed(context, batch, { taskId, scope, epoch, failed });
}

async function sweepLeaseless(
  context: JournalContext,
  batch: LeaselessBatch,
): Promise<readonly EndedLeaseless[]> {
  const ended = await context.statements.sweepLeaseless(batch);
  for (const task of ended) {
    const { taskId, epoch } = task;
    context.logger.warn({ taskId, epoch }, 'ended a task that was running without a lease');
    announceFailed(context, batch, task);
  }
  return ended;
}

function announceFailed(
  context: JournalContext,
  { sweeper }: { readonly sweeper: string },
  ended: EndedLeaseless,
): void {
  const { taskId, scope, epoch, failed } = ended;
  const { seq, payload } = failed;
  context.committed({
    taskId,
    scope,
    rows: [{ taskId, seq, kind: 'statusUpdate', payload, messageId: null, holder: sweeper, epoch }],
    head: { taskId, version: seq, state: 'TASK_STATE_FAILED', lease: null },
  });
}
