import type { LeaseListing } from '@a2a-cluster/core';
import { sqlStateOf } from '../errors/postgresql-faults.js';
import type { LeaseStatements, Renewed, ServerClock } from '../statements/lease-statements.js';
import type { ReplicaReport } from '../statements/replica-statements.js';
import type { Connections } from './connections.js';
import { readClock, readClockUnprivileged } from './sql/clock.js';
import * as sql from './sql/leases.js';

interface RenewedRow {
  readonly task_id: string;
  readonly epoch: number;
  readonly cancel_age_ms: number | null;
}

/** The statements of leases on PostgreSQL, on connections of their own. None is retried here: beats have deadlines. */
export function createPostgresLeases(beats: Connections): LeaseStatements {
  return {
    async beat({ holder, ttlMs, leases, report }) {
      if (leases.length === 0) return [];
      const ids = leases.map((lease) => lease.taskId);
      // The driver would quote each number of an array; as text they cost nothing.
      const epochs = `{${leases.map((lease) => lease.epoch).join(',')}}`;
      const values = [ids, epochs, holder, ttlMs];
      const rows = report
        ? await beats.run<RenewedRow>(sql.beatAndReport, [...values, ...reportValues(report)])
        : await beats.run<RenewedRow>(sql.beat, values);
      return rows.map(toRenewed);
    },
    async beatOne({ holder, ttlMs, lease, waitMs }) {
      // 0 would mean no limit.
      const wait = String(Math.max(1, Math.floor(waitMs)));
      try {
        const values = [lease.taskId, lease.epoch, holder, ttlMs, wait];
        const [row] = await beats.run<RenewedRow>(sql.beatOne, values);
        return row ? toRenewed(row) : null;
      } catch (error) {
        if (causedBy(error, '55P03')) return null;
        throw error;
      }
    },
    async readLeases(taskIds) {
      const rows = await beats.run<{ task_id: string; holder: string; epoch: number }>(sql.readLeases, [
        [...taskIds],
      ]);
      return rows.map(({ task_id, holder, epoch }) => ({ taskId: task_id, holder, epoch }));
    },
    async release({ taskId, holder, epoch }) {
      const [row] = await beats.run<{ marked: boolean }>(sql.release, [taskId, holder, epoch]);
      if (row === undefined) return 'gone';
      return row.marked ? 'cancel_requested' : 'released';
    },
    async markCancel({ taskId, epoch }) {
      const [row] = await beats.run<{ cancel_age_ms: number }>(sql.markCancel, [taskId, epoch]);
      return row ? { cancelAgeMs: row.cancel_age_ms } : null;
    },
    expireNow: async (taskId) => (await beats.run(sql.expireNow, [taskId])).length > 0,
    async nextExpiry() {
      const [row] = await beats.run<{ remaining_ms: number | null }>(sql.nextExpiry, []);
      return row?.remaining_ms ?? null;
    },
    clampFuture: async (ttlMs) => (await beats.run(sql.clampFuture, [ttlMs])).length,
    readClock: () => readServerClock(beats),
    listLeases: (limit) => listLeases(beats, limit),
  };
}

function reportValues({ replicaId, phase, stats }: ReplicaReport): readonly string[] {
  return [replicaId, phase, JSON.stringify(stats)];
}

function toRenewed(row: RenewedRow): Renewed {
  return { taskId: row.task_id, epoch: row.epoch, cancelAgeMs: row.cancel_age_ms };
}

function causedBy(error: unknown, sqlState: string): boolean {
  return error instanceof Error && sqlStateOf(error.cause) === sqlState;
}

async function readServerClock(beats: Connections): Promise<ServerClock> {
  type Row = { readonly now_ms: number; readonly identity: string };
  const [row] = await beats.run<Row>(readClock, []).catch((error: unknown) => {
    // Some hosted servers keep the control file to themselves.
    if (causedBy(error, '42501')) return beats.run<Row>(readClockUnprivileged, []);
    throw error;
  });
  return { nowMs: row?.now_ms ?? 0, identity: row?.identity ?? '' };
}

async function listLeases(beats: Connections, limit: number): Promise<readonly LeaseListing[]> {
  type Row = RenewedRow & {
    readonly tenant: string;
    readonly owner: string;
    readonly holder: string;
    readonly pending: boolean;
    readonly remaining_ms: number;
    readonly age_ms: number;
  };
  const rows = await beats.run<Row>(sql.listLeases, [limit]);
  return rows.map(({ tenant, owner, holder, pending, remaining_ms, age_ms, ...row }) => ({
    ...toRenewed(row),
    ...{ tenant, owner, holder, pending },
    remainingMs: remaining_ms,
    ageMs: age_ms,
  }));
}
