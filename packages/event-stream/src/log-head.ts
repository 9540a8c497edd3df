import type { LogHead, StoredTask } from '@a2a-cluster/db';

/** The head that a stored task was read with. */
export function headOf(stored: StoredTask): LogHead {
  const { taskId, version, state, lease } = stored;
  return {
    taskId,
    version,
    state,
    lease: lease && { holder: lease.holder, epoch: lease.epoch, cancelAgeMs: lease.cancelAgeMs },
  };
}

/**
 * The newer of two heads of a task, or null when `next` is older than `known`. Reads and local news overtake each
 * other, so age is judged by what only ever moves one way: the version; at one version a lease only goes away;
 * within a lease a cancel mark only appears.
 */
export function newerHead(known: LogHead | null, next: LogHead): LogHead | null {
  if (known === null) return next;
  if (next.version < known.version) return null;
  if (next.version === known.version && known.lease === null && next.lease !== null) return null;
  const mark = known.lease?.cancelAgeMs ?? null;
  if (mark === null || next.lease === null || next.lease.cancelAgeMs !== null) return next;
  if (next.lease.epoch !== known.lease?.epoch) return next;
  return { ...next, lease: { ...next.lease, cancelAgeMs: mark } };
}

/** Whether a tail's consumer needs to hear of `b` after `a`: another state, lease, or a new cancel mark. */
export function headsDiffer(a: LogHead | null, b: LogHead): boolean {
  if (a === null || a.state !== b.state) return true;
  if (a.lease === null || b.lease === null) return a.lease !== b.lease;
  if (a.lease.epoch !== b.lease.epoch || a.lease.holder !== b.lease.holder) return true;
  return (a.lease.cancelAgeMs === null) !== (b.lease.cancelAgeMs === null);
}
