import type { Clock, EventRow, Logger, NewEvent, Telemetry } from '@a2a-cluster/core';
import { isClusterError, sleep } from '@a2a-cluster/core';
import type { JournalStatements, LogStatements } from '@a2a-cluster/db';
import type { CommitListener } from './journal.js';

/** What the journal's parts share. */
export interface JournalContext {
  readonly statements: JournalStatements;
  readonly log: LogStatements;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ttlMs: number;
  readonly committed: CommitListener;
  readonly telemetry: Telemetry;
}

/** First pause between attempts; it doubles up to {@link LONGEST_PAUSE_MS}. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** Waits before attempt `attempt + 1`, with full jitter so that replicas do not retry in step. */
export function pause(context: JournalContext, attempt: number, signal?: AbortSignal): Promise<void> {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
  const delayMs = longest / 2 + (Math.random() * longest) / 2;
  return sleep(signal ? { clock: context.clock, delayMs, signal } : { clock: context.clock, delayMs });
}

/** What an attempt of a write came to. */
export type Attempt<T> =
  | { readonly kind: 'answer'; readonly value: T }
  /** The write may have landed. */
  | { readonly kind: 'unknown'; readonly cause: unknown }
  /** The write did not land. */
  | { readonly kind: 'fault'; readonly cause: unknown }
  /** The signal fired while waiting; the write may land later. */
  | { readonly kind: 'lost' };

/** How {@link attempt} waits. */
export interface AttemptLimits<T> {
  /** Ends the wait. */
  readonly lost?: AbortSignal;
  /** Hears an answer that came after the wait had ended. */
  readonly onLate?: (value: T) => void;
}

/** Runs one attempt, and gives up waiting when the signal fires. Never rejects. */
export async function attempt<T>(run: () => Promise<T>, limits: AttemptLimits<T> = {}): Promise<Attempt<T>> {
  const { lost, onLate } = limits;
  if (lost?.aborted) return { kind: 'lost' };
  // Inside an async function, so that a statement that throws at once is a fault like any other.
  const answer = (async () => run())().then(
    (value): Attempt<T> => ({ kind: 'answer', value }),
    (cause: unknown): Attempt<T> => ({
      kind: isClusterError(cause, 'UNKNOWN_OUTCOME') ? 'unknown' : 'fault',
      cause,
    }),
  );
  return lost ? raceSignal(answer, { lost, onLate }) : answer;
}

function raceSignal<T>(
  answer: Promise<Attempt<T>>,
  race: { readonly lost: AbortSignal; readonly onLate: ((value: T) => void) | undefined },
): Promise<Attempt<T>> {
  const { lost, onLate } = race;
  return new Promise((resolve) => {
    let ended = false;
    const onLost = (): void => {
      ended = true;
      resolve({ kind: 'lost' });
    };
    lost.addEventListener('abort', onLost, { once: true });
    void answer.then((value) => {
      lost.removeEventListener('abort', onLost);
      if (ended && value.kind === 'answer') onLate?.(value.value);
      resolve(value);
    });
  });
}

/** Whether the first of these events stands in the log at that seq: then all of them do, they are one transaction. */
export async function foundOwn(
  context: JournalContext,
  own: { readonly taskId: string; readonly seq: number; readonly events: readonly NewEvent[] },
): Promise<boolean> {
  const first = own.events[0];
  if (first === undefined) return false;
  return context.statements.findOwnWrite({ taskId: own.taskId, seq: own.seq, writeId: first.writeId });
}

/** Measures a batch that is stored: how long it took, every attempt included, and how many events it had. */
export function measureCommit(
  context: JournalContext,
  stored: { readonly beganAtMs: number; readonly events: number },
): void {
  context.telemetry.observe('commit_seconds', (context.clock.monotonicMs() - stored.beganAtMs) / 1_000);
  context.telemetry.observe('commit_events', stored.events);
}

/** The rows a stored batch has become. */
export function rowsOf(batch: {
  readonly taskId: string;
  readonly firstSeq: number;
  readonly events: readonly NewEvent[];
  readonly holder: string;
  readonly epoch: number;
}): EventRow[] {
  return batch.events.map((event, index) => ({
    taskId: batch.taskId,
    seq: batch.firstSeq + index,
    kind: event.kind,
    payload: event.payload,
    messageId: event.messageId ?? null,
    holder: batch.holder,
    epoch: batch.epoch,
    ...(event.decoded === undefined ? {} : { decoded: event.decoded }),
  }));
}
