import { stampOf } from '../servers/agent.js';
import { sendTurn, subscribe, type OpenStream } from './client.js';
import { inParallel } from './crowd.js';
import type { BenchServer } from './server-process.js';
import { nowMs } from './time.js';

/** One stream for many clients. */
export interface Show {
  /** Runs the turn. */
  readonly writer: BenchServer;
  /** Has the clients. */
  readonly reader: BenchServer;
  readonly clients: number;
  /** How many of them read nothing until the others are through. */
  readonly slow: number;
  readonly chunks: number;
  readonly bytes: number;
  readonly paceMs: number;
}

/** What became of it. */
export interface Shown {
  /** From the publishing of a chunk to its frame, of every chunk and every client that is not slow. */
  readonly latencies: readonly number[];
  /** Memory of the reader when all clients have subscribed, and when those that are not slow are through. */
  readonly connectedBytes: number;
  readonly streamedBytes: number;
  /** How often the reader decoded a chunk, where it counts that. */
  readonly decodes: number;
}

const AT_A_TIME = 50;

/**
 * Subscribes all clients, then lets the chunks begin. The slow ones read on at the end.
 * @throws Error when a client, also a slow one, did not get every event.
 */
export async function show(options: Show): Promise<Shown> {
  const { writer, reader, clients, slow, chunks, bytes, paceMs } = options;
  const script = { events: chunks + 2, stamp: true, holdFirst: true, bytes, paceMs };
  const { id: taskId } = await sendTurn({ port: writer.port, script, immediately: true });
  const latencies: number[] = [];
  const audience: Audience = { fast: [], slow: [] };
  const place = { port: reader.port, taskId };
  await inParallel({
    items: Array.from({ length: clients }, (_, index) => index < slow),
    atATime: AT_A_TIME,
    work: (isSlow) =>
      isSlow ? joinSlowly(place, audience.slow) : join(place, { streams: audience.fast, latencies }),
  });
  const connected = await reader.stats();
  writer.release();
  await allFrames(audience.fast, chunks);
  const streamed = await reader.stats();
  for (const stream of audience.slow) stream.resume();
  await allFrames(audience.slow, chunks);
  return {
    latencies,
    connectedBytes: connected.rssBytes,
    streamedBytes: streamed.rssBytes,
    decodes: streamed.decodes,
  };
}

interface Audience {
  readonly fast: OpenStream[];
  readonly slow: OpenStream[];
}

interface Place {
  readonly port: number;
  readonly taskId: string;
}

function join(
  place: Place,
  { streams, latencies }: { readonly streams: OpenStream[]; readonly latencies: number[] },
): Promise<void> {
  return new Promise((resolve, reject) => {
    let frames = 0;
    const onFrame = (frame: string): void => {
      frames += 1;
      if (frames === 1) return resolve();
      const stampMs = stampOf(frame);
      if (stampMs !== null) latencies.push(nowMs() - stampMs);
    };
    const stream = subscribe({ ...place, onFrame });
    streams.push(stream);
    stream.ended.catch(reject);
  });
}

function joinSlowly(place: Place, streams: OpenStream[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let frames = 0;
    const onFrame = (): void => {
      frames += 1;
      if (frames > 1) return;
      stream.pause();
      resolve();
    };
    const stream = subscribe({ ...place, onFrame });
    streams.push(stream);
    stream.ended.catch(reject);
  });
}

async function allFrames(streams: readonly OpenStream[], chunks: number): Promise<void> {
  const frames = await Promise.all(streams.map(({ ended }) => ended));
  // The task as it is, the chunks, the end.
  const wrong = frames.filter((count) => count !== chunks + 2).length;
  if (wrong > 0) throw new Error(`${wrong} of ${frames.length} clients did not get ${chunks} chunks`);
}
