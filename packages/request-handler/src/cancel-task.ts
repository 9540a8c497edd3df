import { randomUUID } from 'node:crypto';
import type { Task } from '@a2a-js/sdk';
import {
  encodeEvent,
  isClusterError,
  isTerminalName,
  sleep,
  type Clock,
  type Logger,
  type Scope,
  type TaskEvent,
} from '@a2a-cluster/core';
import type { JournalStatements, LeaseStatements, Look } from '@a2a-cluster/db';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { Journal, TaskReader } from '@a2a-cluster/task-store';
import { cancelGraceLeftMs } from './cancel-grace.js';
import { outcomeUnknown, replicaClosed, taskNotCancelable, taskNotFound } from './refusals.js';
import type { RunningTurns } from './running-turns.js';
import { canceledEvent } from './turn-endings.js';

/** What a cancel needs. */
export interface CancelParts {
  readonly statements: Pick<JournalStatements, 'look'>;
  readonly leases: Pick<LeaseStatements, 'markCancel'>;
  readonly journal: Journal;
  readonly reader: TaskReader;
  readonly stream: EventStream;
  readonly turns: RunningTurns;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly holder: string;
  readonly cancelGraceMs: number;
  /** Whether no lease may be taken for dead now, by a fresh reading of the database's clock. Never rejects. */
  freshlyQuiet(): Promise<boolean>;
}

/** Who cancels what. */
export interface CancelRequest {
  readonly taskId: string;
  readonly scope: Scope;
}

const CANCELED = 'TASK_STATE_CANCELED';

/** How often the database is asked before its silence is the caller's. */
const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 25;

/**
 * Cancels a task on whichever replica it runs (protocol 8). A live turn is told and has the grace to end the task
 * itself; then, or where nothing runs, CANCELED is written here. Gives the cancelled task.
 *
 * @throws A2AError: not found, ended some other way first, or this replica closed meanwhile.
 */
export async function cancelTask(parts: CancelParts, request: CancelRequest): Promise<Task> {
  const canceller = new Canceller(parts, request);
  const unfollow = parts.turns.follow();
  try {
    const state = await canceller.run();
    if (state !== CANCELED) throw taskNotCancelable(request.taskId);
    const stored = await parts.reader.read(request);
    if (stored === null) throw outcomeUnknown(request.taskId);
    return stored.task;
  } finally {
    unfollow();
  }
}

class Canceller {
  /** Monotonic time at which the grace ends; set by the first mark, and not prolonged by later ones. */
  private deadlineMs: number | null = null;
  private markedEpoch: number | null = null;

  constructor(
    private readonly parts: CancelParts,
    private readonly request: CancelRequest,
  ) {}

  /** The state the task has ended in. */
  async run(): Promise<string> {
    for (;;) {
      if (this.parts.turns.closed.aborted) throw replicaClosed();
      const look = await this.patiently(() => this.parts.statements.look(this.request));
      if (look === null) throw taskNotFound(this.request.taskId);
      if (isTerminalName(look.state)) return look.state;
      if (await this.waitForHolder(look)) continue;
      if (await this.write(look)) return CANCELED;
    }
  }

  /** True when somebody else may have ended the task meanwhile, so it is to be looked at again. */
  private async waitForHolder(look: Look): Promise<boolean> {
    const { lease } = look;
    if (lease === null) return false;
    // Expired only by a clock that stepped, it may be alive: then its holder is told, and has the grace.
    if (lease.remainingMs <= 0 && !(await this.parts.freshlyQuiet())) return false;
    const changed = this.watch(lease.epoch);
    try {
      if (this.markedEpoch !== lease.epoch && !(await this.mark(lease.epoch))) return true;
      const restMs = this.restMs();
      return restMs > 0 && (await changed.wait(restMs));
    } finally {
      changed.stop();
    }
  }

  private restMs(): number {
    return (this.deadlineMs ?? 0) - this.parts.clock.monotonicMs();
  }

  /** Marks the lease and tells its holder; false when that lease is gone. */
  private async mark(epoch: number): Promise<boolean> {
    const { leases, stream, turns, clock, cancelGraceMs } = this.parts;
    const { taskId } = this.request;
    const marked = await this.patiently(() => leases.markCancel({ taskId, epoch }));
    if (marked === null) return false;
    this.markedEpoch = epoch;
    const { cancelAgeMs } = marked;
    this.deadlineMs ??= clock.monotonicMs() + cancelGraceLeftMs({ graceMs: cancelGraceMs, cancelAgeMs });
    const local = turns.find(taskId);
    if (local?.epoch === epoch) local.requestCancel(cancelAgeMs);
    else stream.hint(taskId);
    return true;
  }

  /** Asks again where the database did not answer: looking and marking may be done twice. */
  private async patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (!isClusterError(error) || tries === MOST_TRIES) throw error;
        const { clock, turns } = this.parts;
        await sleep({ clock, delayMs: FIRST_PAUSE_MS * 2 ** tries, signal: turns.closed });
      }
    }
  }

  /** Watches for the end of that turn; the close of this replica ends the wait as well. */
  private watch(epoch: number): { wait(limitMs: number): Promise<boolean>; stop(): void } {
    const { stream, clock, turns } = this.parts;
    const { closed } = turns;
    let over = false;
    let wake: (() => void) | null = null;
    const stop = stream.watchHead({
      taskId: this.request.taskId,
      onHead: (head) => {
        if (head !== null && head.version < epoch) return;
        if (head !== null && !isTerminalName(head.state) && head.lease?.epoch === epoch) return;
        over = true;
        wake?.();
      },
    });
    const wait = (limitMs: number): Promise<boolean> =>
      new Promise((resolve) => {
        if (over || closed.aborted) return resolve(true);
        const settle = (changed: boolean): void => {
          timer.cancel();
          closed.removeEventListener('abort', wakeUp);
          resolve(changed);
        };
        const wakeUp = (): void => settle(true);
        const timer = clock.setTimer(Math.max(0, limitMs), () => settle(false));
        closed.addEventListener('abort', wakeUp, { once: true });
        wake = wakeUp;
      });
    return { wait, stop };
  }

  /** Writes CANCELED without a lease, fencing whoever holds one; false when the task moved meanwhile. */
  private async write(look: Look): Promise<boolean> {
    const { taskId, scope } = this.request;
    const timestamp = this.parts.clock.wallIso();
    const event = canceledEvent({ taskId, contextId: look.contextId, timestamp, messageId: randomUUID() });
    const written = await this.parts.journal.cancel({
      taskId,
      scope,
      expectedVersion: look.version,
      event: { kind: 'statusUpdate', payload: encodeEvent(event as TaskEvent), writeId: randomUUID() },
      statusTimestamp: timestamp,
      holder: this.parts.holder,
      epoch: look.lease?.epoch ?? look.version,
    });
    if (written.ok)
      this.parts.logger.info({ taskId, overruled: look.lease !== null }, 'cancelled without the holder');
    return written.ok;
  }
}
