import { barePosts } from '../baselines/bare-posts.js';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { startSink, type Sink } from '../harness/sink.js';
import { describeCounts, totalOf } from '../harness/statements.js';
import { median } from '../harness/statistics.js';
import { nowMs, timeMs } from '../harness/time.js';
import { openBacklog, type Backlog } from './push/backlog.js';
import { beginSending, endSending, startSenders, type Sender, type SendersUse } from './push/senders.js';

interface Size {
  readonly configs: number;
  readonly rounds: number;
}

const SENDERS = 3;
/** Of all senders together, and of the bare loop. */
const IN_FLIGHT = 64;
const EVENTS = 10;
const ORIGINS = 8;
/** Short, so that the claims of the dead run out soon; the others live by the same times. */
const TIMES = { claimTtlMs: 10_000, attemptTimeoutMs: 5_000, pollIntervalMs: 1_000 };

/** B11a: what many webhooks wait for, delivered by three replicas. */
export const deliveries: Benchmark = {
  id: 'B11a',
  title: '10 000 deliveries by 3 replicas, beside a bare loop of requests, and with one killed half-way',
  databases: ['sqlite', 'postgresql', 'mysql'],
  run: async (context) => {
    const size = sizeOf(context);
    const figures: Figure[] = [];
    for (const origins of [ORIGINS, 1]) {
      const arms = await open(context, { ...size, origins });
      figures.push(...(await compare(arms)));
      if (origins === ORIGINS) figures.push(await withDeath(arms));
      await arms.close();
    }
    return figures;
  },
};

function sizeOf({ quick }: BenchContext): Size {
  return quick ? { configs: 60, rounds: 2 } : { configs: 1_000, rounds: 7 };
}

interface Arms extends Size {
  readonly origins: number;
  readonly notifications: number;
  readonly sink: Sink;
  readonly backlog: Backlog;
  readonly databaseUrl: string;
  readonly senders: readonly Sender[];
  readonly uses: SendersUse[];
  /** CPU time of the bare loop, round by round. */
  readonly bareCpuMs: number[];
  close(): Promise<void>;
}

async function open(context: BenchContext, size: Size & { readonly origins: number }): Promise<Arms> {
  const databaseUrl = await context.freshDatabase();
  const sink = await startSink(context, { ports: size.origins });
  const { configs } = size;
  const database = { provider: context.database, url: databaseUrl };
  const backlog = await openBacklog(database, { configs, eventsPerConfig: EVENTS, origins: sink.origins });
  context.cleanUp(() => backlog.close());
  const senders = await startSenders(context, {
    ...{ senders: SENDERS, inFlight: IN_FLIGHT, databaseUrl },
    ...TIMES,
  });
  const close = async (): Promise<void> => void (await Promise.all(senders.map((sender) => sender.close())));
  return {
    ...size,
    notifications: configs * EVENTS,
    sink,
    backlog,
    databaseUrl,
    senders,
    uses: [],
    bareCpuMs: [],
    close,
  };
}

async function compare(arms: Arms): Promise<readonly Figure[]> {
  const { notifications, rounds, origins, uses, bareCpuMs } = arms;
  // The loop makes all requests of a round, a sender a third: after these each has made as many in its warm-up.
  for (let round = 1; round < SENDERS; round += 1) await delivered(arms);
  const numbers = await alternate({
    rounds,
    arms: { ours: () => delivered(arms), bare: () => posted(arms) },
  });
  // The first was the warm-up.
  const measured = uses.slice(-rounds);
  const last = measured.at(-1);
  const perDelivery = (value: (use: SendersUse) => number): number =>
    median(measured.map(value)) / notifications;
  return [
    {
      figure: `${notifications} deliveries to ${originsText(origins)}, ${SENDERS} replicas: deliveries/s, ours / bare`,
      unit: 'ratio',
      ...ratioOf(numbers.ours, numbers.bare),
      bar: { op: '>=', limit: 0.5 },
      baseline: `undici in one process, ${IN_FLIGHT} in flight, no database; ours ${IN_FLIGHT} in all, none missing, repeated or out of order`,
      detail: {
        'ours/s': median(numbers.ours),
        'bare/s': median(numbers.bare),
        'statements per delivery': perDelivery(({ calls }) => totalOf(calls)),
        'CPU of the replicas per delivery, ms': perDelivery(({ cpuMs }) => cpuMs),
        'CPU of the bare loop per request, ms': median(bareCpuMs.slice(-rounds)) / notifications,
        'last round': last === undefined ? '' : describeCounts(last.calls),
      },
    },
  ];
}

function originsText(origins: number): string {
  return origins === 1 ? 'one origin' : `${origins} origins`;
}

/** Deliveries per second; each round has a backlog of its own and is worth nothing unless each came exactly once. */
async function delivered({ backlog, sink, notifications, senders, uses }: Arms): Promise<number> {
  await backlog.make();
  const { all } = await sink.expect(notifications);
  await beginSending(senders);
  await all;
  const use = await endSending(senders);
  const { accepted, lastMs, repeated, early } = await sink.counts();
  if (accepted !== notifications || repeated.length > 0 || early > 0)
    throw new Error(
      `${accepted} deliveries, ${repeated.length} configs with repetitions, ${early} too early`,
    );
  await backlog.expectDelivered(0);
  uses.push(use);
  return (notifications * 1_000) / (lastMs - use.firstClaimMs);
}

async function posted({ backlog, sink, notifications, bareCpuMs }: Arms): Promise<number> {
  await sink.expect(notifications);
  const before = process.cpuUsage();
  const tookMs = await timeMs(() => barePosts(backlog.posts, IN_FLIGHT));
  const { user, system } = process.cpuUsage(before);
  bareCpuMs.push((user + system) / 1_000);
  const { accepted } = await sink.counts();
  if (accepted !== notifications) throw new Error(`the bare loop lost ${notifications - accepted} requests`);
  return (notifications * 1_000) / tookMs;
}

/** One of the senders is killed when half of the deliveries were made. */
async function withDeath(arms: Arms): Promise<Figure> {
  const { backlog, sink, notifications, senders } = arms;
  await backlog.make();
  const { half, all } = await sink.expect(notifications);
  await beginSending(senders);
  await half;
  const [dead, ...alive] = senders;
  if (dead === undefined) throw new Error('there is nobody to kill');
  await dead.kill();
  const killedMs = nowMs();
  const held = await backlog.heldBy(dead.replicaId);
  await all;
  // What the dead one delivered without marking it is repeated when its claims have ended.
  await backlog.expectDelivered(2 * TIMES.claimTtlMs);
  await endSending(alive);
  const { accepted, lastMs, repeated, early } = await sink.counts();
  const ofOthers = repeated.filter(([config]) => !held.has(config)).length;
  return {
    figure: `${notifications} deliveries, one of ${SENDERS} replicas killed half-way: missing, out of order, or repeated for a config it did not hold`,
    unit: 'deliveries',
    value: notifications - accepted + early + ofOthers,
    bar: { op: '<=', limit: 0 },
    baseline: `${held.size} configs were the dead one's; their claims end after ${TIMES.claimTtlMs} ms`,
    spread: null,
    detail: {
      'repeated deliveries of its configs': repeated.reduce((sum, [, times]) => sum + times, 0),
      'configs of it with a repetition': repeated.length - ofOthers,
      'from the kill to the last new one, ms': lastMs - killedMs,
    },
  };
}
