import type { FaultRecord } from '../history/history.js';
import { endOf, mayConcern } from './excuses.js';
import type { HistoryView } from './view.js';

/** By when the turn of a replica that died at a moment must have been ended. */
export function sweepDeadline(
  view: HistoryView,
  death: { readonly atMs: number; readonly taskId: string },
): number {
  const { ttlMs } = view.history.settings;
  let baseMs = death.atMs;
  for (;;) {
    const dueMs = baseMs + ttlMs + 1_000;
    const later = lastHindrance(view, { fromMs: baseMs, toMs: dueMs, taskId: death.taskId });
    if (later <= baseMs) return dueMs;
    // Nobody is left who could sweep, or nobody was until the end.
    if (later > view.history.endedAtMs) return Number.POSITIVE_INFINITY;
    baseMs = later;
  }
}

/** The last moment in that time at which nobody could have swept. */
function lastHindrance(
  view: HistoryView,
  within: { readonly fromMs: number; readonly toMs: number; readonly taskId: string },
): number {
  const { faults } = view.history;
  const ends = faults.flatMap((fault) => {
    const overlaps = fault.fromMs <= within.toMs && quietUntil(view, fault) > within.fromMs;
    return overlaps && hindersAll(fault) && mayConcern(view, fault, within.taskId)
      ? [quietUntil(view, fault)]
      : [];
  });
  return Math.max(within.fromMs, ...ends, lastWithoutSweeper(view, within));
}

function hindersAll({ kind, replica }: FaultRecord): boolean {
  if (kind === 'database_down' || kind === 'rows_locked') return true;
  // The clock of one replica says nothing to the others.
  return (
    replica === null &&
    (kind === 'clock' || kind === 'stop' || kind === 'cut_off' || kind === 'statements' || kind === 'blocked')
  );
}

/** When all may sweep again: a clock that jumped, and a database that was away for longer than S, begin a quiet period of one TTL. */
export function quietUntil(view: HistoryView, fault: FaultRecord): number {
  const { ttlMs, survivableMs, sweepIntervalMs } = view.history.settings;
  if (fault.kind === 'clock') return (fault.toMs ?? fault.fromMs) + sweepIntervalMs * 1.2 + ttlMs;
  const endMs = endOf(fault);
  return fault.kind === 'database_down' && endMs - fault.fromMs > survivableMs ? endMs + ttlMs : endMs;
}

/** The end of the last stretch in which no replica was able to sweep. */
function lastWithoutSweeper(
  view: HistoryView,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): number {
  const edges = new Set([fromMs, toMs]);
  for (const replica of view.history.replicas)
    for (const stretch of unfitStretches(view, replica.name))
      for (const edge of [stretch.fromMs, stretch.toMs]) if (edge > fromMs && edge < toMs) edges.add(edge);
  const sorted = [...edges].sort((a, b) => a - b);
  let last = fromMs;
  for (const [index, from] of sorted.entries()) {
    const to = sorted[index + 1];
    if (to === undefined) break;
    const middle = (from + to) / 2;
    const anyFit = view.history.replicas.some(({ name }) =>
      unfitStretches(view, name).every((stretch) => middle < stretch.fromMs || middle > stretch.toMs),
    );
    if (!anyFit) last = to;
  }
  return last;
}

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

function unfitStretches(view: HistoryView, name: string): Stretch[] {
  const replica = view.replicas.get(name);
  const away: Stretch[] = [{ fromMs: Number.NEGATIVE_INFINITY, toMs: replica?.startedAtMs ?? 0 }];
  if (replica?.exitedAtMs != null) away.push({ fromMs: replica.exitedAtMs, toMs: Number.POSITIVE_INFINITY });
  for (const fault of view.history.faults) {
    if (fault.replica !== name) continue;
    const { kind, fromMs } = fault;
    const ends = kind === 'kill' || kind === 'terminate';
    if (ends || kind === 'stop' || kind === 'cut_off' || kind === 'blocked' || kind === 'statements')
      away.push({ fromMs, toMs: endOf(fault) });
  }
  return away;
}
