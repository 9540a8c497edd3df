import type { BenchContext } from '../benchmark.js';
import type { SinkCommand, SinkCounts, SinkMessage, SinkSettings } from '../servers/sink-protocol.js';
import { startChild } from './child.js';

/** A webhook in a process of its own. */
export interface Sink {
  /** `http://host:port` of each. */
  readonly origins: readonly string[];
  /** Counts from nothing; the promises resolve when half of them and all of them are there. */
  expect(notifications: number): Promise<{ readonly half: Promise<void>; readonly all: Promise<void> }>;
  counts(): Promise<SinkCounts>;
}

/** Starts one and waits until it listens. The benchmark's clean-up ends it. */
export async function startSink(context: BenchContext, settings: SinkSettings): Promise<Sink> {
  const child = startChild<SinkMessage, SinkCommand>(context, { main: 'sink', name: 'sink', settings });
  const { ports } = await child.next('ready');
  return {
    origins: ports.map((port) => `http://127.0.0.1:${port}`),
    expect: async (notifications) => {
      const half = child.next('half').then(() => {});
      const all = child.next('all').then(() => {});
      // Whoever waits for it hears of a sink that died; nobody else has to.
      for (const promise of [half, all]) promise.catch(() => {});
      await child.ask({ type: 'expect', notifications }, 'expecting');
      return { half, all };
    },
    counts: async () => (await child.ask({ type: 'counts' }, 'counts')).counts,
  };
}
