import type { FaultKind, FaultRecord } from '../history/history.js';
import type { HistoryView } from './view.js';

/** Moments of the tables are translated into the harness's clock; this is how far that may be off. */
export const CLOCK_SLACK_MS = 100;

/** Which faults are asked for. */
export interface FaultQuery {
  readonly kinds: readonly FaultKind[];
  /** Faults of this replica and of all; null: only those of all. */
  readonly replica: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** Locked rows of other tasks do not count. */
  readonly taskId?: string;
}

/** The faults of these kinds that overlap the time. */
export function faultsIn(view: HistoryView, query: FaultQuery): FaultRecord[] {
  const { kinds, replica, fromMs, toMs, taskId } = query;
  return view.history.faults.filter(
    (fault) =>
      kinds.includes(fault.kind) &&
      (fault.replica === null || fault.replica === replica) &&
      fault.fromMs <= toMs &&
      endOf(fault) >= fromMs &&
      (taskId === undefined || mayConcern(view, fault, taskId)),
  );
}

/** False where the fault is a lock on rows of other tasks. */
export function mayConcern(view: HistoryView, fault: FaultRecord, taskId: string): boolean {
  const named = view.lockedTasks.get(fault) ?? [];
  return named.length === 0 || named.includes(taskId);
}

/** When a fault was over; never: `Infinity`. A kill and a SIGTERM are for good. */
export function endOf(fault: FaultRecord): number {
  if (fault.kind === 'kill' || fault.kind === 'terminate') return Number.POSITIVE_INFINITY;
  return fault.toMs ?? Number.POSITIVE_INFINITY;
}

/** For how long faults lasted together, those at the same time counted once. */
export function totalMs(faults: readonly FaultRecord[]): number {
  let total = 0;
  let coveredTo = Number.NEGATIVE_INFINITY;
  for (const fault of [...faults].sort((a, b) => a.fromMs - b.fromMs)) {
    const end = endOf(fault);
    if (end <= coveredTo) continue;
    total += end - Math.max(fault.fromMs, coveredTo);
    coveredTo = end;
  }
  return total;
}

/** The last end of the faults, or the moment itself where there is none later. */
export function latestEnd(faults: readonly FaultRecord[], atMs: number): number {
  return Math.max(atMs, ...faults.map(endOf));
}
