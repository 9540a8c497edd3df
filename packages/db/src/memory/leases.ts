import type { LeaseKey } from '@a2a-cluster/core';
import type { Beat, LeaseStatements, Renewed } from '../statements/lease-statements.js';
import { cancelAgeOf } from './tables.js';
import type { LeaseRecord, MemoryTables } from './tables.js';

/** The lease statements over {@link MemoryTables} (protocol 5). */
export function createMemoryLeases(tables: MemoryTables): LeaseStatements {
  return {
    beat: async (beat) =>
      beat.leases.map((lease) => renew(tables, beat, lease)).filter((renewed) => renewed !== null),
    beatOne: async (beat) => renew(tables, beat, beat.lease),
    readLeases: async (taskIds) =>
      taskIds
        .map((taskId) => tables.leases.get(taskId))
        .filter((lease) => lease !== undefined)
        .map(({ taskId, holder, epoch }) => ({ taskId, holder, epoch })),
    release: async (lease) => {
      const row = rowOf(tables, lease);
      if (row?.holder !== lease.holder) return 'gone';
      if (row.cancelRequestedAtMs !== null) return 'cancel_requested';
      tables.leases.delete(lease.taskId);
      return 'released';
    },
    markCancel: async (lease) => {
      const row = rowOf(tables, lease);
      if (!row) return null;
      const nowMs = tables.nowMs();
      row.cancelRequestedAtMs ??= nowMs;
      return { cancelAgeMs: nowMs - row.cancelRequestedAtMs };
    },
    expireNow: async (taskId) => {
      const row = tables.leases.get(taskId);
      if (row) row.expiresAtMs = Math.min(row.expiresAtMs, tables.nowMs());
      return row !== undefined;
    },
    nextExpiry: async () => {
      const first = byExpiry(tables)[0];
      return first ? first.expiresAtMs - tables.nowMs() : null;
    },
    clampFuture: async (ttlMs) => clampFuture(tables, ttlMs),
    readClock: async () => ({ nowMs: tables.nowMs(), identity: 'memory' }),
    listLeases: async (limit) => listLeases(tables, limit),
  };
}

/** The row of exactly this turn. */
function rowOf(tables: MemoryTables, lease: LeaseKey): LeaseRecord | null {
  const row = tables.leases.get(lease.taskId);
  return row?.epoch === lease.epoch ? row : null;
}

function byExpiry(tables: MemoryTables): LeaseRecord[] {
  return [...tables.leases.values()].sort((a, b) => a.expiresAtMs - b.expiresAtMs);
}

function renew(tables: MemoryTables, beat: Pick<Beat, 'holder' | 'ttlMs'>, lease: LeaseKey): Renewed | null {
  const row = rowOf(tables, lease);
  if (row?.holder !== beat.holder) return null;
  const nowMs = tables.nowMs();
  row.expiresAtMs = nowMs + beat.ttlMs;
  return { taskId: row.taskId, epoch: row.epoch, cancelAgeMs: cancelAgeOf(row, nowMs) };
}

function clampFuture(tables: MemoryTables, ttlMs: number): number {
  const nowMs = tables.nowMs();
  const far = [...tables.leases.values()].filter((lease) => lease.expiresAtMs > nowMs + 2 * ttlMs);
  for (const lease of far) lease.expiresAtMs = nowMs + ttlMs;
  return far.length;
}

function listLeases(tables: MemoryTables, limit: number): Awaited<ReturnType<LeaseStatements['listLeases']>> {
  const nowMs = tables.nowMs();
  return byExpiry(tables)
    .slice(0, limit)
    .map((lease) => ({
      taskId: lease.taskId,
      tenant: lease.scope.tenant,
      owner: lease.scope.owner,
      holder: lease.holder,
      epoch: lease.epoch,
      pending: lease.pending,
      remainingMs: lease.expiresAtMs - nowMs,
      cancelAgeMs: cancelAgeOf(lease, nowMs),
      ageMs: nowMs - lease.acquiredAtMs,
    }));
}
