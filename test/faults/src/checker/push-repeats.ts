import type { FaultKind, FaultRecord } from '../history/history.js';
import { CLOCK_SLACK_MS, endOf } from './excuses.js';
import { GONE, isAccepted, isRefused, type Attempt, type HookView } from './push-hook.js';
import type { HistoryView } from './view.js';

/** What may keep a sender from storing what it was answered, or from knowing that its claim is over. */
const HINDRANCES: readonly FaultKind[] = [
  'cut_off',
  'blocked',
  'statements',
  'database_down',
  'connections',
  'clock',
];

/** What a process that goes on may need to send what it was about to send. */
const WAKING_MS = 1_000;

/** How the detail of a stop begins that came at a failpoint of the deliveries, where no write is under way. */
const OUTSIDE_WRITES = 'at push.';

/** A delivery after its event needed none any more. */
interface Repetition {
  readonly attempt: Attempt;
  /** When the answer was given that made it superfluous. */
  readonly settledAtMs: number;
}

/** Whatever needed no more attempts and came again, without a fault of a sender that explains it. */
export function checkRepeats(view: HistoryView, hook: HookView): string[] {
  const wakings = new Set<FaultRecord>();
  return repetitionsOf(hook).flatMap((repetition) => {
    if (isExcused(view, repetition) || isOfZombie(view, repetition, wakings)) return [];
    const { attempt, settledAtMs } = repetition;
    return [
      `seq ${attempt.seq} came at ${view.at(attempt.push.atMs)}, though it was settled at ${view.at(settledAtMs)}`,
    ];
  });
}

/** How often something came again that had been accepted. */
export function repetitionsOf({ attempts }: Pick<HookView, 'attempts'>): Repetition[] {
  const settled = new Map<number, number>();
  let goneAtMs = Number.POSITIVE_INFINITY;
  return attempts.flatMap((attempt) => {
    const { push, seq } = attempt;
    const settledAtMs = Math.min(goneAtMs, settled.get(seq) ?? Number.POSITIVE_INFINITY);
    if (push.answeredAtMs !== null && (isAccepted(push) || isRefused(push)) && !settled.has(seq))
      settled.set(seq, push.answeredAtMs);
    if (push.answeredAtMs !== null && push.answer === GONE) goneAtMs = Math.min(goneAtMs, push.answeredAtMs);
    return settledAtMs < push.atMs ? [{ attempt, settledAtMs }] : [];
  });
}

/**
 * A sender marks what was accepted a moment later, and tries to for as long as its claim lives: what was settled
 * within that time before its death may come again, as may what a hindered sender sent.
 */
function isExcused(view: HistoryView, { attempt, settledAtMs }: Repetition): boolean {
  const { history } = view;
  const markedFromMs = settledAtMs - CLOCK_SLACK_MS;
  const markedByMs = settledAtMs + history.settings.pushClaimTtlMs;
  return history.faults.some((fault) => {
    if (fault.fromMs > attempt.push.atMs) return false;
    switch (fault.kind) {
      case 'kill':
        return fault.fromMs >= markedFromMs && fault.fromMs <= markedByMs;
      case 'terminate':
        return exitOf(view, fault) >= markedFromMs && fault.fromMs <= markedByMs;
      case 'stop':
        // A process that stands still inside a write of a file keeps everybody from storing anything.
        if (history.database === 'sqlite' && !fault.detail.startsWith(OUTSIDE_WRITES))
          return endOf(fault) >= settledAtMs - history.settings.pushClaimTtlMs;
        return fault.fromMs >= markedFromMs && fault.fromMs <= markedByMs;
      default:
        return (
          HINDRANCES.includes(fault.kind) && endOf(fault) >= settledAtMs - history.settings.pushClaimTtlMs
        );
    }
  });
}

/** What a sender was about to send when it was stopped it sends when it goes on, once: then it learns what it lost. */
function isOfZombie(view: HistoryView, { attempt }: Repetition, wakings: Set<FaultRecord>): boolean {
  const { faults, settings } = view.history;
  const { atMs } = attempt.push;
  const waking = faults.find(
    (fault) =>
      fault.kind === 'stop' &&
      !wakings.has(fault) &&
      atMs >= endOf(fault) - CLOCK_SLACK_MS &&
      atMs <= endOf(fault) + settings.pushTimeoutMs + WAKING_MS,
  );
  if (waking) wakings.add(waking);
  return waking !== undefined;
}

function exitOf(view: HistoryView, { replica }: FaultRecord): number {
  return view.replicas.get(replica ?? '')?.exitedAtMs ?? Number.POSITIVE_INFINITY;
}
