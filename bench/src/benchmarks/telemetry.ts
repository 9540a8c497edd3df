import { createTally, traced, type Telemetry } from '@a2a-cluster/core';
import type { Benchmark, Figure } from '../benchmark.js';
import { median, spreadOf } from '../harness/statistics.js';
import { timeMs } from '../harness/time.js';

const ROUNDS = 15;

/** What one commit adds: a span, of which nothing is kept, and two measurements. */
async function commitAround(telemetry: Telemetry): Promise<void> {
  await traced('a2a.commit', async (span) => {
    span.note(() => ({ 'a2a.task_id': 't', 'a2a.epoch': 1, 'a2a.replica_id': 'r', 'a2a.events': 1 }));
    telemetry.observe('commit_seconds', 0.001);
    telemetry.observe('commit_events', 1);
    span.note(() => ({ 'a2a.seq': 2 }));
  });
}

/** The same call without any of it. */
async function bare(): Promise<void> {
  await (async () => {})();
}

/** B12: what measuring and tracing cost a commit while nobody listens: no provider, no metrics behind the tally. */
export const telemetry: Benchmark = {
  id: 'B12',
  title: 'metrics and traces that nobody reads',
  databases: ['sqlite'],
  async run({ quick }): Promise<readonly Figure[]> {
    const count = quick ? 20_000 : 400_000;
    const tally = createTally();
    const perCallNs = async (call: () => Promise<void>): Promise<number> => {
      const ms = await timeMs(async () => {
        for (let n = 0; n < count; n += 1) await call();
      });
      return (ms * 1e6) / count;
    };
    const added: number[] = [];
    const without: number[] = [];
    for (let round = 0; round < (quick ? 3 : ROUNDS); round += 1) {
      without.push(await perCallNs(bare));
      added.push((await perCallNs(() => commitAround(tally))) - (without.at(-1) ?? 0));
    }
    return [
      {
        figure: 'added to a commit by its span and its two measurements, tracing off, nobody told',
        unit: 'ns',
        value: median(added),
        bar: { op: '<=', limit: 1_000 },
        baseline: `an asynchronous call alone: ${median(without).toFixed(0)} ns`,
        spread: spreadOf(added),
      },
    ];
  },
};
