import type { Bar, BenchContext, Figure } from '../../benchmark.js';
import { alternate, ratioOf } from '../../harness/alternate.js';
import { median, spreadOf } from '../../harness/statistics.js';
import { samplesMs, timeMs } from '../../harness/time.js';
import { openBareRenewals, type BareRenewals } from './bare-renewals.js';
import { holdLeases, TTL_MS, type HeldLeases } from './held-leases.js';

/** How many leases, and how often each way of renewing them is measured. */
export interface BeatLoad {
  readonly leases: number;
  readonly rounds: number;
  /** Renewals one by one; they take long. */
  readonly slowRounds: number;
}

/** A busy replica; fewer and more are told for their own sake. */
const WITH_BAR = 1_000;

/** How long a beat takes beside one bare UPDATE for all leases, and beside one renewal per task. */
export async function beatTimes(context: BenchContext, load: BeatLoad): Promise<readonly Figure[]> {
  const url = await context.freshDatabase();
  const held = await holdLeases({ context, url, holder: 'ours', count: load.leases });
  const bare = await openBareRenewals({ url, ttlMs: TTL_MS, ...held });
  try {
    const barred = context.database !== 'sqlite' && load.leases === WITH_BAR;
    return await compare({ held, bare, load, bar: barred ? { op: '<=', limit: 2 } : null });
  } finally {
    await bare.close();
    await held.close();
  }
}

async function compare(parts: {
  readonly held: HeldLeases;
  readonly bare: BareRenewals;
  readonly load: BeatLoad;
  readonly bar: Bar | null;
}): Promise<readonly Figure[]> {
  const { held, bare, load, bar } = parts;
  const { leases, rounds, slowRounds } = load;
  const numbers = await alternate({
    rounds,
    warmUp: 3,
    arms: { ours: () => timeMs(() => held.beat()), bare: () => timeMs(() => bare.all()) },
  });
  // Apart: they leave the table in another state than one statement does.
  const each = (await samplesMs(slowRounds + 1, () => bare.each())).slice(1);
  const ours = median(numbers.ours);
  const byTask = each.map((tookMs) => tookMs / ours);
  return [
    {
      figure: `heartbeat of ${leases} leases: ours / one bare UPDATE, p50`,
      unit: 'ratio',
      ...ratioOf(numbers.ours, numbers.bare),
      bar,
      baseline: 'one UPDATE of the same rows by the bare driver, alternating',
      detail: { 'ours ms': ours, 'bare ms': median(numbers.bare) },
    },
    {
      figure: `renewal of ${leases} leases: one statement per task / ours, p50`,
      unit: 'ratio',
      value: median(byTask),
      spread: spreadOf(byTask),
      bar: null,
      baseline: `the original's shape, ${leases} UPDATEs, on the servers through ten connections`,
      detail: { 'per task ms': median(each), 'ours ms': ours },
    },
  ];
}
