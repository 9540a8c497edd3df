import type { EventInfo, PushInfo, ReplicaInfo, TaskChange, TaskSummary, Totals } from '@a2a-cluster/console/api';
import type {
  DeadLetterListing,
  LogHead,
  OperatorEvent,
  OperatorTask,
  PushListing,
  ReplicaListing,
} from '@a2a-cluster/db';
import { shownUrl } from '../shown-url.js';

/** So many reports may be missing until a replica counts as silent. */
export const MISSED_BEATS = 3;

/** A row of the list of tasks. */
export function taskSummary(task: OperatorTask): TaskSummary {
  const { taskId, contextId, tenant, owner, state, version, createdAtMs, ageMs, idleMs, lease } = task;
  return {
    ...{ taskId, contextId, tenant, owner, state, version },
    ...{ createdAtMs: Math.round(createdAtMs), ageMs: Math.round(ageMs), idleMs: Math.round(idleMs) },
    lease: lease && {
      ...{ holder: lease.holder, epoch: lease.epoch, pending: lease.pending },
      remainingMs: Math.round(lease.remainingMs),
      cancelAgeMs: rounded(lease.cancelAgeMs),
    },
  };
}

/** An event of the timeline. The payload is the stored JSON; one that is none is shown as its text. */
export function eventInfo({ seq, kind, holder, epoch, createdAtMs, payload }: OperatorEvent): EventInfo {
  return { seq, kind, holder, epoch, createdAtMs: Math.round(createdAtMs), payload: objectIn(payload) };
}

/** What changed about a watched task. */
export function taskChange(taskId: string, head: LogHead | null): TaskChange {
  if (head === null) return { taskId, gone: true };
  const { state, version, lease } = head;
  return { taskId, gone: false, state, version, lease: lease && { holder: lease.holder, epoch: lease.epoch } };
}

/** The webhooks of a task with what was given up of each. Neither tokens nor credentials are among it. */
export function pushInfos(
  deliveries: readonly PushListing[],
  letters: readonly DeadLetterListing[],
): readonly PushInfo[] {
  return deliveries.map((row) => ({
    ...{ configId: row.configId, url: shownUrl(row.url), status: row.status, position: row.position },
    ...{ attempts: row.attempts, lastError: row.lastError, holder: row.holder },
    dueInMs: rounded(row.dueInMs),
    dead: letters
      .filter(({ configId }) => configId === row.configId)
      .map(({ seq, attempts, error, ageMs, status }) => ({
        ...{ seq, attempts, error, status },
        ageMs: Math.round(ageMs),
      })),
  }));
}

/**
 * A replica as of `readAgeMs` ago. Whether it is silent is judged by what was read then: while the database is away
 * nobody is known to be silent.
 */
export function replicaInfo(row: ReplicaListing, readAgeMs: number): ReplicaInfo {
  const { replicaId, version, host, pid, phase, pauseRequested, heartbeatMs, stats } = row;
  const { runningTurns, heldLeases, subscribers, pushInFlight } = stats;
  return {
    ...{ replicaId, version, host, pid, phase, pauseRequested, heartbeatMs },
    health: isSilent(row) ? 'silent' : 'alive',
    upMs: Math.round(row.upMs + readAgeMs),
    beatAgeMs: Math.round(row.beatAgeMs + readAgeMs),
    ...{ runningTurns, heldLeases, subscribers, pushInFlight },
    totals: totalsOf(row),
  };
}

/** Whether a replica missed its reports when the table was read. */
export function isSilent({ beatAgeMs, heartbeatMs }: ReplicaListing): boolean {
  return beatAgeMs > MISSED_BEATS * heartbeatMs;
}

/** What a replica has counted since its start. */
export function totalsOf({ stats }: Pick<ReplicaListing, 'stats'>): Totals {
  const { turnsStarted, turnsEnded, turnsParked, turnsRefused, turnsSwept, leasesLost } = stats;
  const { pushDelivered, pushFailed } = stats;
  return {
    ...{ turnsStarted, turnsEnded, turnsParked, turnsRefused, turnsSwept, leasesLost },
    ...{ pushDelivered, pushFailed },
  };
}

const NAMES = [
  ...(['turnsStarted', 'turnsEnded', 'turnsParked', 'turnsRefused', 'turnsSwept'] as const),
  ...(['leasesLost', 'pushDelivered', 'pushFailed'] as const),
];

/** All of them together. */
export function sumOf(all: readonly Totals[]): Totals {
  const sum = (name: keyof Totals): number => all.reduce((total, one) => total + one[name], 0);
  return Object.fromEntries(NAMES.map((name) => [name, sum(name)])) as unknown as Totals;
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

function objectIn(payload: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(payload);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // Shown as it is: an operator may have come to see just this row.
  }
  return { text: payload };
}
