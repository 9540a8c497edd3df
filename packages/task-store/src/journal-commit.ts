import { isTerminalName, traced, type CommitRefusal, type EventRow, type OpenSpan } from '@a2a-cluster/core';
import type { Look, WriteOutcome } from '@a2a-cluster/db';
import { attempt, foundOwn, measureCommit, pause, rowsOf, type JournalContext } from './journal-context.js';
import type { CommitRequest, CommitResult } from './journal.js';

/** A look at a refused write; see {@link judgeRefusal}. */
type Judgement = CommitRefusal | 'retry';

/** What a step of a write came to; null: stored. */
type Step = CommitRefusal | null | 'again';

/** Writes a batch of a turn under its lease: see `Journal.commit`. */
export function commitEvents(context: JournalContext, request: CommitRequest): Promise<CommitResult> {
  return traced('a2a.commit', (span) => write(context, request, span));
}

async function write(context: JournalContext, request: CommitRequest, span: OpenSpan): Promise<CommitResult> {
  const { taskId, epoch, holder } = request.authority;
  span.note(() => ({
    'a2a.task_id': taskId,
    'a2a.epoch': epoch,
    'a2a.replica_id': holder,
    'a2a.events': request.events.length,
  }));
  const adopted: EventRow[] = [];
  const beganAtMs = context.clock.monotonicMs();
  const writer = new CommitWriter(context, request, adopted);
  const refusal = await writer.run();
  if (refusal !== null) {
    span.note(() => ({ 'a2a.refusal': refusal }));
    return { ok: false, refusal };
  }
  span.note(() => ({ 'a2a.seq': writer.version }));
  measureCommit(context, { beganAtMs, events: request.events.length });
  writer.announce();
  return { ok: true, version: writer.version, adopted };
}

/** One batch on its way: the attempts, and what they have learnt. */
class CommitWriter {
  private expectedVersion: number;
  /** An earlier attempt may have landed. */
  private uncertain = false;
  private faultsSinceMs: number | null = null;

  constructor(
    private readonly context: JournalContext,
    private readonly request: CommitRequest,
    private readonly adopted: EventRow[],
  ) {
    this.expectedVersion = request.expectedVersion;
  }

  /** The version after the batch. */
  get version(): number {
    return this.expectedVersion + this.request.events.length;
  }

  async run(): Promise<CommitRefusal | null> {
    for (let tries = 0; ; tries++) {
      const step = await this.step();
      if (step !== 'again') return step;
      await pause(this.context, tries, this.request.authority.lost);
    }
  }

  private async step(): Promise<Step> {
    const { lost } = this.request.authority;
    if (this.uncertain) {
      const landed = await attempt(() => this.landed(), { lost });
      if (landed.kind === 'lost') return 'lease_lost';
      if (landed.kind !== 'answer') return this.faulted(landed.cause);
      if (landed.value) return null;
    }
    const sent = await attempt(() => this.send(), { lost, onLate: (late) => this.landedLate(late) });
    switch (sent.kind) {
      case 'lost':
        return 'lease_lost';
      case 'unknown':
        this.uncertain = true;
        return 'again';
      case 'fault':
        return this.faulted(sent.cause);
      case 'answer':
        this.faultsSinceMs = null;
        return sent.value.ok ? null : this.refused();
    }
  }

  private send(): Promise<WriteOutcome> {
    const { authority, events, state, statusTimestamp, terminal, clearsPending, snapshot } = this.request;
    return this.context.statements.commit({
      taskId: authority.taskId,
      holder: authority.holder,
      epoch: authority.epoch,
      expectedVersion: this.expectedVersion,
      events,
      state,
      statusTimestamp,
      terminal,
      clearsPending,
      // A snapshot worked out before rows were adopted would lack them.
      snapshot: this.adopted.length === 0 ? snapshot : null,
    });
  }

  /** The writer has given up, but the events are in the log: whoever follows it here hears of them all the same. */
  private landedLate(outcome: WriteOutcome): void {
    if (outcome.ok) this.announce();
    else this.context.telemetry.count('late_writes_refused_total');
  }

  private landed(): Promise<boolean> {
    const { authority, events } = this.request;
    return foundOwn(this.context, { taskId: authority.taskId, seq: this.expectedVersion + 1, events });
  }

  /** A fault is retried while the lease lives, but no longer than a TTL in a row: it may be ours for good. */
  private faulted(cause: unknown): 'again' {
    const now = this.context.clock.monotonicMs();
    this.faultsSinceMs ??= now;
    if (now - this.faultsSinceMs > this.context.ttlMs) throw cause;
    return 'again';
  }

  /** The statement wrote nothing: why, by statements of their own. */
  private async refused(): Promise<Step> {
    const { authority } = this.request;
    const answer = await attempt(() => this.judge(), { lost: authority.lost });
    if (answer.kind === 'lost') return this.refuse('lease_lost');
    if (answer.kind !== 'answer') return this.faulted(answer.cause);
    if (answer.value === 'landed') return null;
    if (answer.value === 'conflict') return this.adopt();
    if (answer.value !== 'retry') return this.refuse(answer.value);
    return (await authority.renewNow()) === 'lost' ? 'lease_lost' : 'again';
  }

  /** Looked for after the look: what the look has seen of our own write, the search finds. */
  private async judge(): Promise<Judgement | 'landed'> {
    const { taskId, holder, epoch } = this.request.authority;
    const look = await this.context.statements.look({ taskId });
    const judgement = judgeRefusal(look, { holder, epoch, expectedVersion: this.expectedVersion });
    if (judgement === 'retry') return 'retry';
    return (await this.landed()) ? 'landed' : judgement;
  }

  /** Rows between the version we saw and now: only a user's messages of this very turn may be written past. */
  private async adopt(): Promise<Step> {
    const { authority } = this.request;
    const { taskId } = authority;
    const read = await attempt(
      () => this.context.log.readEvents({ taskId, after: this.expectedVersion, limit: 100 }),
      { lost: authority.lost },
    );
    if (read.kind === 'lost') return 'lease_lost';
    if (read.kind !== 'answer') return this.faulted(read.cause);
    const ours = read.value.every((row) => row.kind === 'message' && row.epoch === authority.epoch);
    if (!ours || read.value.length === 0) return this.refuse('conflict');
    this.adopted.push(...read.value);
    this.expectedVersion += read.value.length;
    // The place an earlier attempt aimed at is taken: it can no longer land.
    this.uncertain = false;
    return 'again';
  }

  private refuse(refusal: CommitRefusal): CommitRefusal {
    // The canceller was faster with the same end: nobody was late.
    const isSettled = refusal === 'terminal' && this.request.state === 'TASK_STATE_CANCELED';
    if (!isSettled) this.context.telemetry.count('late_writes_refused_total');
    return refusal;
  }

  /** Tells of the stored batch. Adopted rows were told by whoever wrote them. */
  announce(): void {
    const { authority, events, terminal, state, currentState, scope } = this.request;
    const { taskId, holder, epoch } = authority;
    this.context.committed({
      taskId,
      scope,
      rows: rowsOf({ taskId, firstSeq: this.expectedVersion + 1, events, holder, epoch }),
      head: {
        taskId,
        version: this.version,
        state: state ?? currentState,
        lease: terminal ? null : { holder, epoch, cancelAgeMs: null },
      },
    });
  }
}

/**
 * Why a fenced write was refused, by what is there now (protocol 3.7). `retry`: nothing forbids it, so a beat was in
 * flight or the clock stepped.
 */
export function judgeRefusal(
  look: Look | null,
  writer: { readonly holder: string; readonly epoch: number; readonly expectedVersion: number },
): Judgement {
  if (look === null) return 'gone';
  if (isTerminalName(look.state)) return 'terminal';
  if (look.lease === null || look.lease.holder !== writer.holder || look.lease.epoch !== writer.epoch)
    return 'lease_lost';
  return look.version === writer.expectedVersion ? 'retry' : 'conflict';
}
