import type { PushConfigRow, Violation } from '../history/history.js';
import { CLOCK_SLACK_MS } from './excuses.js';
import { GONE, hooksOf, isAccepted, isRefused, type HookView } from './push-hook.js';
import { checkRepeats } from './push-repeats.js';
import type { ReadRow } from './read-row.js';
import type { HistoryView } from './view.js';

const CHECKS = [checkBodies, checkOrder, checkRepeats, checkMissing, checkEnd] as const;

/**
 * I8: every event after the registration is pushed until it is accepted, in order, under one id and with one body,
 * until the config is deleted or disabled or the event is a dead letter; and no more often than faults explain.
 */
export function checkI08(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) => {
    if (task.poisoned) return [];
    return hooksOf(view, task).flatMap((hook) =>
      [...hook.unreadable, ...CHECKS.flatMap((check) => check(view, hook))].map((text) => ({
        invariant: 'I8',
        text: `webhook ${hook.name}: ${text}`,
        taskId: task.taskId,
      })),
    );
  });
}

function checkBodies(view: HistoryView, { attempts }: HookView): string[] {
  const first = new Map<number, string>();
  return attempts.flatMap(({ push, seq }) => {
    const before = first.get(seq);
    if (before === undefined) first.set(seq, push.digest);
    return before === undefined || before === push.digest
      ? []
      : [`seq ${seq} came at ${view.at(push.atMs)} with another body than before`];
  });
}

/** The first attempt of each comes after what is before it was accepted, or given up. */
function checkOrder(view: HistoryView, { attempts, events, letters }: HookView): string[] {
  const firstSeq = firstOf(attempts);
  const dead = new Set(letters.map(({ seq }) => seq));
  const due = events.map(({ row }) => row.seq).filter((seq) => seq >= firstSeq && !dead.has(seq));
  const tried = new Set<number>();
  const accepted = new Set<number>();
  return attempts.flatMap(({ push, seq }) => {
    const before = due.findLast((each) => each < seq);
    const isEarly = !tried.has(seq) && before !== undefined && !accepted.has(before);
    tried.add(seq);
    // One process sees them all, so what it was told before stands before in the history.
    if (isAccepted(push)) accepted.add(seq);
    return isEarly ? [`seq ${seq} came at ${view.at(push.atMs)}, before seq ${before} was accepted`] : [];
  });
}

function checkMissing(view: HistoryView, hook: HookView): string[] {
  const { config, attempts, events, letters } = hook;
  if (config === null) return [];
  const settled = new Set([
    ...attempts.filter(({ push }) => isAccepted(push)).map(({ seq }) => seq),
    ...letters.map(({ seq }) => seq),
  ]);
  const firstSeq = firstOf(attempts);
  return events.flatMap((read) => {
    const { row } = read;
    if (settled.has(row.seq) || !isRegistered(view, { read, config, firstSeq })) return [];
    if (row.seq > config.position && isStillToCome(view, config)) return [];
    const { status, position } = config;
    return [
      `seq ${row.seq} (${row.holder}, ${view.at(row.createdAtMs)}) never was accepted, registered at ` +
        `${view.at(config.createdAtMs)}; the config is ${status} at ${position}`,
    ];
  });
}

function isStillToCome({ history }: HistoryView, { status }: PushConfigRow): boolean {
  return status === 'disabled' || (status === 'active' && !history.pushesAwaited);
}

function isRegistered(
  view: HistoryView,
  of: { readonly read: ReadRow; readonly config: PushConfigRow; readonly firstSeq: number },
): boolean {
  const { row } = of.read;
  // After one was pushed its successors are, whatever the clocks say.
  if (row.seq > of.firstSeq) return true;
  return view.history.databaseClockIsSteady && row.createdAtMs > of.config.createdAtMs + CLOCK_SLACK_MS;
}

/** Only an answer ends deliveries: 410 those of the config, one that is final those of its event. */
function checkEnd(_view: HistoryView, { config, attempts, letters }: HookView): string[] {
  const found: string[] = [];
  if (config?.status === 'disabled' && !attempts.some(({ push }) => push.answer === GONE))
    found.push('it is disabled, and never said that it is gone');
  for (const { seq, error } of letters)
    if (!attempts.some((attempt) => attempt.seq === seq && isRefused(attempt.push)))
      found.push(`seq ${seq} was given up, and never refused for good: ${error}`);
  return found;
}

function firstOf(attempts: HookView['attempts']): number {
  return Math.min(...attempts.map(({ seq }) => seq));
}
