import { stampOf } from '../servers/agent.js';
import { sendTurn, subscribe } from './client.js';
import { nowMs } from './time.js';

/** A turn whose chunks tell when they were published. */
export interface StampedTurn {
  /** The port of the server that runs it. */
  readonly writer: number;
  /** The port of the server the subscriber is on. */
  readonly reader: number;
  readonly chunks: number;
  readonly paceMs: number;
  /** A URL that is called for each event of the task. */
  readonly webhook?: string | undefined;
}

const STAMPS = /@\d{6,}@/g;

/**
 * From `publish()` in the agent to the frame in the client, for each chunk that came after the subscription began: the
 * commit, the way to the other process and both sockets are inside. A frame may hold many chunks, old ones as well
 * (a poller is given the whole task); each counts when it is first seen.
 * @throws Error when a chunk never came.
 */
export async function stampLatencies(turn: StampedTurn): Promise<number[]> {
  const { writer, reader, chunks, paceMs, webhook } = turn;
  const script = { events: chunks + 2, stamp: true, paceMs };
  const { id: taskId } = await sendTurn({ port: writer, script, immediately: true, webhook });
  const seen = new Set<string>();
  const latencies: number[] = [];
  let first = true;
  const onFrame = (frame: string): void => {
    const seenMs = nowMs();
    for (const stamp of frame.match(STAMPS) ?? []) {
      if (seen.has(stamp)) continue;
      seen.add(stamp);
      // The first frame is the task as it was when the subscription began.
      if (!first) latencies.push(seenMs - (stampOf(stamp) ?? NaN));
    }
    first = false;
  };
  await subscribe({ port: reader, taskId, onFrame }).ended;
  if (seen.size !== chunks) throw new Error(`${seen.size} chunks arrived instead of ${chunks}`);
  return latencies;
}
