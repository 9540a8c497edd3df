import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { show, type Show } from '../harness/audience.js';
import { alternate, ratioOf, type Rounds } from '../harness/alternate.js';
import { latencyOf } from '../harness/latencies.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { median } from '../harness/statistics.js';

interface Size {
  readonly rounds: number;
  readonly clients: number;
  readonly slow: number;
  readonly chunks: number;
  readonly paceMs: number;
  /** Of the stream that no socket can swallow. */
  readonly wideChunks: number;
}

const KIB = 1024;
const MIB = KIB * KIB;
const CHUNK_BYTES = KIB;
const WIDE_BYTES = 64 * KIB;
const GROWTH_MIB = 100;

/** B7: one task, many clients, a few of which read nothing. */
export const fanOut: Benchmark = {
  id: 'B7',
  title: 'fan-out of one task to many clients, some of them slow',
  databases: ['postgresql'],
  run: async (context) => {
    const size = sizeOf(context);
    return [
      ...(await manyClients(context, size)),
      await wideStream(context, size),
      await decodesPerRow(context, size),
    ];
  },
};

function sizeOf({ quick }: BenchContext): Size {
  return quick
    ? { rounds: 1, clients: 50, slow: 5, chunks: 10, paceMs: 20, wideChunks: 40 }
    : { rounds: 3, clients: 1_000, slow: 10, chunks: 150, paceMs: 120, wideChunks: 400 };
}

/** Two replicas that have run one stream: their code is loaded. */
async function startPair(
  context: BenchContext,
  countDecodes = false,
): Promise<{ readonly writer: BenchServer; readonly reader: BenchServer }> {
  const settings = { kind: 'cluster', databaseUrl: await context.freshDatabase(), countDecodes } as const;
  const writer = await startServer(context, settings);
  const reader = await startServer(context, settings);
  for (const warmed of [writer, reader])
    await show({ writer, reader: warmed, clients: 10, slow: 1, chunks: 20, bytes: CHUNK_BYTES, paceMs: 1 });
  return { writer, reader };
}

/**
 * On the replica that runs the turn, which has the most to do. What the slow ones do not read still fits into their
 * sockets here; the wide stream is the one where it does not.
 */
async function manyClients(context: BenchContext, size: Size): Promise<readonly Figure[]> {
  const { writer } = await startPair(context);
  const { rssBytes } = await writer.stats();
  const growth = { connected: 0, streamed: 0 };
  const { clients, chunks, paceMs } = size;
  const arm = async (slow: number): Promise<number> => {
    const all = { writer, reader: writer, clients, slow, chunks, bytes: CHUNK_BYTES, paceMs };
    const shown = await show(all);
    growth.connected = Math.max(growth.connected, shown.connectedBytes - rssBytes);
    growth.streamed = Math.max(growth.streamed, shown.streamedBytes - rssBytes);
    return latencyOf(shown.latencies).p99;
  };
  const p99 = await alternate({
    rounds: size.rounds,
    arms: { slow: () => arm(size.slow), fast: () => arm(0) },
    onRound: (round, { slow, fast }) =>
      context.say(`round ${round}: p99 ${slow.toFixed(1)} ms, with no slow one ${fast.toFixed(1)} ms`),
  });
  await writer.close();
  return manyFigures({ size, growth, p99 });
}

function manyFigures(parts: {
  readonly size: Size;
  readonly growth: { readonly connected: number; readonly streamed: number };
  readonly p99: Rounds<'slow' | 'fast'>;
}): Figure[] {
  const { size, growth, p99 } = parts;
  const { clients, slow, chunks, paceMs } = size;
  const what = `${chunks} chunks of 1 KiB to ${clients} clients, ${slow} of them reading nothing`;
  return [
    {
      figure: `${what}: growth of the server`,
      unit: 'MiB',
      value: growth.streamed / MIB,
      bar: { op: '<=', limit: GROWTH_MIB },
      baseline: 'resident memory before the first client, after a collection; the most of all rounds',
      spread: null,
      detail: { 'of it by the connections, before the first chunk': growth.connected / MIB },
    },
    {
      figure: `${what}: p99 of the others / p99 with no slow one`,
      unit: 'ratio',
      ...ratioOf(p99.slow, p99.fast),
      bar: { op: '<=', limit: 3 },
      baseline: `from publish() to the frame, one client process; a chunk every ${paceMs} ms`,
      detail: { 'p99 ms': median(p99.slow), 'p99 ms with no slow one': median(p99.fast) },
    },
  ];
}

/** More than the buffers of a socket hold: here the server is what has to hold back. */
async function wideStream(context: BenchContext, { wideChunks }: Size): Promise<Figure> {
  const { writer, reader } = await startPair(context);
  const { rssBytes } = await reader.stats();
  const [clients, slow] = [20, 10];
  const wide: Show = { writer, reader, clients, slow, chunks: wideChunks, bytes: WIDE_BYTES, paceMs: 5 };
  const shown = await show(wide);
  await Promise.all([writer.close(), reader.close()]);
  const mib = (wideChunks * WIDE_BYTES) / MIB;
  return {
    figure: `${mib} MiB in chunks of 64 KiB to 10 clients and 10 that read nothing: growth of the server`,
    unit: 'MiB',
    value: (shown.streamedBytes - rssBytes) / MIB,
    bar: { op: '<=', limit: GROWTH_MIB },
    baseline: `holding all of it for each slow client: ${mib * slow} MiB; the turn runs on another replica`,
    spread: null,
  };
}

async function decodesPerRow(context: BenchContext, { clients, chunks }: Size): Promise<Figure> {
  const { writer, reader } = await startPair(context, true);
  const many = Math.min(clients, 100);
  const rows: Show = { writer, reader, clients: many, slow: 0, chunks, bytes: CHUNK_BYTES, paceMs: 5 };
  const { decodes } = await show(rows);
  await Promise.all([writer.close(), reader.close()]);
  return {
    figure: `decodes of one row of the log on a replica with ${many} subscribers of it`,
    unit: 'decodes',
    value: decodes / chunks,
    bar: { op: '<=', limit: 1 },
    baseline: `one per subscriber: ${many}`,
    spread: null,
  };
}
