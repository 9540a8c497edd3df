import type { Sample, Totals } from '@a2a-cluster/console/api';
import type { ReplicaListing } from '@a2a-cluster/db';
import { isSilent, sumOf, totalsOf } from './views.js';

/** The table of replicas as one heartbeat read it. */
export interface Reading {
  /** By the clock of this process that never runs backwards. */
  readonly readAtMs: number;
  /** By its wall clock. */
  readonly atMs: number;
  readonly replicas: readonly ReplicaListing[];
}

/** A {@link Sample}, and what it was made of. */
export interface KeptSample {
  readonly shown: Sample;
  /** What was counted since the sample before. */
  readonly counted: Totals;
  /** Milliseconds since the sample before. */
  readonly elapsedMs: number;
}

const MINUTE_MS = 60_000;
/** Two readings closer than this give no rate: one turn would be thousands a minute. */
const LEAST_MS = 100;
/** Samples that are older than this are put together, those of each of these spans into one. */
const FINE_MS = 10 * MINUTE_MS;
const COARSE_MS = 30_000;

/**
 * The sample of a reading. A replica counts from its start, so rates are differences: of one that was there before, what
 * it counted since; of one that is new and started since, all it has counted; of one that was only not seen before,
 * nothing, for nobody knows when that was. What a replica counted after its last report and before it went is lost.
 */
export function sampleOf(before: Reading | null, now: Reading): KeptSample {
  const elapsedMs = before === null ? 0 : now.readAtMs - before.readAtMs;
  const counted = before === null || elapsedMs < LEAST_MS ? NOTHING : countedSince(before, now);
  const alive = now.replicas.filter((replica) => !isSilent(replica));
  const sum = (name: 'runningTurns' | 'subscribers'): number =>
    alive.reduce((total, { stats }) => total + stats[name], 0);
  const levels = { replicas: alive.length, running: sum('runningTurns'), subscribers: sum('subscribers') };
  return { counted, elapsedMs, shown: { atMs: now.atMs, ...levels, ...ratesOf(counted, elapsedMs) } };
}

/** Two samples that follow each other, as one: what was counted in both, and how it was at the end. */
function joined(first: KeptSample, then: KeptSample): KeptSample {
  const elapsedMs = first.elapsedMs + then.elapsedMs;
  const counted = sumOf([first.counted, then.counted]);
  return { counted, elapsedMs, shown: { ...then.shown, ...ratesOf(counted, elapsedMs) } };
}

function ratesOf(
  counted: Totals,
  elapsedMs: number,
): Omit<Sample, 'atMs' | 'replicas' | 'running' | 'subscribers'> {
  const perMin = (count: number): number =>
    elapsedMs < LEAST_MS ? 0 : Math.round((count * MINUTE_MS * 10) / elapsedMs) / 10;
  return {
    startedPerMin: perMin(counted.turnsStarted),
    endedPerMin: perMin(counted.turnsEnded),
    parkedPerMin: perMin(counted.turnsParked),
    refusedPerMin: perMin(counted.turnsRefused),
    sweptPerMin: perMin(counted.turnsSwept),
    pushDeliveredPerMin: perMin(counted.pushDelivered),
    pushFailedPerMin: perMin(counted.pushFailed),
  };
}

const NOTHING: Totals = {
  ...{ turnsStarted: 0, turnsEnded: 0, turnsParked: 0, turnsRefused: 0, turnsSwept: 0 },
  ...{ leasesLost: 0, pushDelivered: 0, pushFailed: 0 },
};

/** What all replicas counted between two readings; never below zero. */
export function countedSince(before: Reading, now: Reading): Totals {
  const earlier = new Map(before.replicas.map((replica) => [replica.replicaId, replica]));
  const elapsedMs = now.readAtMs - before.readAtMs;
  const sum = { ...NOTHING } as { -readonly [Name in keyof Totals]: number };
  for (const replica of now.replicas) {
    const was = earlier.get(replica.replicaId);
    if (was === undefined && replica.upMs > elapsedMs) continue;
    const from = was === undefined ? NOTHING : totalsOf(was);
    const to = totalsOf(replica);
    for (const name of Object.keys(NOTHING) as (keyof Totals)[])
      sum[name] += Math.max(0, to[name] - from[name]);
  }
  return sum;
}

/** The samples of the last while: the last minutes one by one, what was before more coarsely, so that a page is small. */
export class SampleRing {
  private coarse: KeptSample[] = [];
  private fine: KeptSample[] = [];
  private last: Reading | null = null;

  constructor(private readonly limits: { readonly keptMs: number; readonly leastGapMs: number }) {}

  /** Takes a reading; false: it is the one before again, or too soon after it. */
  take(reading: Reading): boolean {
    if (this.last !== null && reading.readAtMs - this.last.readAtMs < this.limits.leastGapMs) return false;
    this.fine.push(sampleOf(this.last, reading));
    this.last = reading;
    const young = this.fine.findIndex(({ shown }) => shown.atMs >= reading.atMs - FINE_MS);
    this.fine.splice(0, young).forEach((sample) => this.keepCoarsely(sample));
    const oldestMs = reading.atMs - this.limits.keptMs;
    this.coarse = this.coarse.filter(({ shown }) => shown.atMs >= oldestMs);
    return true;
  }

  /** The oldest first. */
  all(): readonly KeptSample[] {
    return [...this.coarse, ...this.fine];
  }

  private keepCoarsely(sample: KeptSample): void {
    const before = this.coarse.at(-1);
    const span = ({ shown }: KeptSample): number => Math.floor(shown.atMs / COARSE_MS);
    if (before === undefined || span(before) !== span(sample)) this.coarse.push(sample);
    else this.coarse.splice(-1, 1, joined(before, sample));
  }
}
