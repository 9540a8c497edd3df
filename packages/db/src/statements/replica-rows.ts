import type { ReplicaListing, ReplicaPhase, ReplicaStats } from './replica-statements.js';

/** Most replicas that `list` and `report` give. */
export const MOST_REPLICAS = 1_000;

/** Most rows that one `forget` deletes. */
export const FORGET_BATCH = 100;

/** A row of `replicas` as each database gives it, ages worked out by its clock. */
export interface ReplicaRow {
  readonly replica_id: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly heartbeat_ms: number;
  readonly phase: string;
  readonly stats: string;
  readonly up_ms: number;
  readonly beat_age_ms: number;
  /** Null: no pause was asked for. Only that is read of it. */
  readonly pause_requested_at: unknown;
}

const NO_STATS: ReplicaStats = {
  runningTurns: 0,
  heldLeases: 0,
  subscribers: 0,
  turnsStarted: 0,
  turnsEnded: 0,
  turnsParked: 0,
  turnsRefused: 0,
  leasesLost: 0,
  turnsSwept: 0,
  pushDelivered: 0,
  pushFailed: 0,
  pushInFlight: 0,
};

/** The rows as the contract has them: the youngest first. */
export function toReplicaListings(rows: readonly ReplicaRow[]): readonly ReplicaListing[] {
  return youngestFirst(rows.map(toReplicaListing));
}

/** In the order of the contract. */
export function youngestFirst(listed: readonly ReplicaListing[]): readonly ReplicaListing[] {
  return [...listed].sort((a, b) => a.upMs - b.upMs || (a.replicaId < b.replicaId ? -1 : 1));
}

function toReplicaListing(row: ReplicaRow): ReplicaListing {
  return {
    replicaId: row.replica_id,
    version: row.version,
    host: row.host,
    pid: row.pid,
    heartbeatMs: row.heartbeat_ms,
    // A later version may have others; whoever shows it shows the word.
    phase: row.phase as ReplicaPhase,
    stats: statsOf(row.stats),
    upMs: Math.max(0, row.up_ms),
    beatAgeMs: Math.max(0, row.beat_age_ms),
    pauseRequested: row.pause_requested_at !== null,
  };
}

/**
 * Reads stats that another version may have written: what it does not know is 0, what this one does not know is left
 * out. Text that is no JSON gives zeros: figures for people must not keep a replica from seeing the others.
 */
export function statsOf(text: string): ReplicaStats {
  const given = parsed(text);
  const known = Object.keys(NO_STATS).map((name) => [name, numberOf(given[name])] as const);
  return { ...NO_STATS, ...Object.fromEntries(known) };
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
