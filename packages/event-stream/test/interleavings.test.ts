import { expect, test } from '@jest/globals';
import type { EventRow } from '@a2a-cluster/core';
import type { LogHead } from '@a2a-cluster/db';
import { createFakeClock } from '@a2a-cluster/testing';
import fc from 'fast-check';
import type { Tail, TailItem } from '../src/index.js';
import { createBench, range, type Bench } from './harness.js';

/** One thing that happens. */
type Step =
  | { readonly kind: 'local'; readonly count: number; readonly told: 'at once' | 'late' | 'never' | 'twice' }
  | { readonly kind: 'remote'; readonly count: number; readonly hinted: boolean }
  | { readonly kind: 'release'; readonly told: boolean }
  | { readonly kind: 'take' }
  | { readonly kind: 'attach'; readonly back: number }
  | { readonly kind: 'open' }
  | { readonly kind: 'pull'; readonly tail: number; readonly count: number }
  | { readonly kind: 'close'; readonly tail: number }
  | { readonly kind: 'latency'; readonly ms: number }
  | { readonly kind: 'outage'; readonly ms: number }
  | { readonly kind: 'wait'; readonly ms: number };

const count = fc.integer({ min: 1, max: 5 });
const ms = fc.integer({ min: 1, max: 300 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('local' as const),
    count,
    told: fc.constantFrom(
      'at once' as const,
      'at once' as const,
      'late' as const,
      'never' as const,
      'twice' as const,
    ),
  }),
  fc.record({ kind: fc.constant('remote' as const), count, hinted: fc.boolean() }),
  fc.record({ kind: fc.constant('release' as const), told: fc.boolean() }),
  fc.record({ kind: fc.constant('take' as const) }),
  fc.record({ kind: fc.constant('attach' as const), back: fc.integer({ min: 0, max: 12 }) }),
  fc.record({ kind: fc.constant('open' as const) }),
  fc.record({ kind: fc.constant('pull' as const), tail: fc.nat(), count: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ kind: fc.constant('close' as const), tail: fc.nat() }),
  fc.record({ kind: fc.constant('latency' as const), ms: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('outage' as const), ms }),
  fc.record({ kind: fc.constant('wait' as const), ms }),
);

interface Follower {
  readonly tail: Tail;
  readonly after: number;
  readonly items: TailItem[];
  closed: boolean;
  pulling: Promise<void>;
}

/** The run of one list of steps. */
class Run {
  readonly #bench: Bench;
  readonly #followers: Follower[] = [];
  readonly #late: (() => void)[] = [];

  constructor(bench: Bench) {
    this.#bench = bench;
    bench.log.create('a');
  }

  get followers(): readonly Follower[] {
    return this.#followers;
  }

  async take(step: Step): Promise<void> {
    const { clock, log, stream } = this.#bench;
    switch (step.kind) {
      case 'local':
        return this.#local(log.append('a', step.count), step.told);
      case 'remote':
        log.append('a', step.count);
        if (step.hinted) stream.hint('a');
        return;
      case 'release':
        return this.#release(step.told);
      case 'take':
        log.task('a').lease = { holder: 'q', epoch: log.head('a').version + 1, cancelAgeMs: null };
        log.append('a', 1);
        return;
      case 'attach':
        return this.#follow(
          stream.attach({ taskId: 'a', after: Math.max(0, log.head('a').version - step.back) }),
        );
      case 'open':
        return this.#open();
      case 'pull':
        return this.#pull(this.#pick(step.tail), step.count);
      case 'close':
        return this.#close(this.#pick(step.tail));
      case 'latency':
        log.latencies.push(step.ms);
        return;
      case 'outage':
        log.fault = new Error('away');
        await clock.advance(step.ms);
        log.fault = null;
        return;
      case 'wait':
        for (const tell of this.#late.splice(0)) tell();
        await clock.advance(step.ms);
    }
  }

  /** Lets everything arrive and everybody read to the end. */
  async settle(): Promise<void> {
    const { clock } = this.#bench;
    for (const follower of this.#followers) this.#pull(follower, Infinity);
    await clock.advance(5_000);
  }

  #local(rows: EventRow[], told: 'at once' | 'late' | 'never' | 'twice'): void {
    const { log, stream } = this.#bench;
    const head = log.head('a');
    const tell = (): void => stream.committed({ taskId: 'a', rows, head });
    if (told === 'late') this.#late.push(tell);
    if (told === 'at once' || told === 'twice') tell();
    if (told === 'twice') tell();
  }

  #release(told: boolean): void {
    const { log, stream } = this.#bench;
    const { lease, version } = log.head('a');
    log.task('a').lease = null;
    if (lease && told) stream.released({ taskId: 'a', epoch: lease.epoch, version });
  }

  async #open(): Promise<void> {
    const { clock, log, stream } = this.#bench;
    log.latencies = [];
    const opened = await stream.open({ taskId: 'a', scope: { tenant: '', owner: 'alice' } });
    await clock.flush();
    if (opened) this.#follow(opened.tail);
  }

  #follow(tail: Tail): void {
    this.#followers.push({ tail, after: tail.cursor, items: [], closed: false, pulling: Promise.resolve() });
  }

  #pick(index: number): Follower | undefined {
    return this.#followers[index % Math.max(this.#followers.length, 1)];
  }

  #pull(follower: Follower | undefined, wanted: number): void {
    if (!follower) return;
    follower.pulling = follower.pulling.then(async () => {
      for (let pulled = 0; pulled < wanted; pulled += 1) {
        const item = await follower.tail.next();
        if (item === null) return;
        follower.items.push(item);
      }
    });
  }

  #close(follower: Follower | undefined): void {
    if (!follower) return;
    follower.closed = true;
    follower.tail.close();
  }
}

function seqsOf(items: readonly TailItem[]): number[] {
  return items.flatMap((item) => (item.type === 'event' ? [item.row.seq] : []));
}

/** No head before its events, none older than the one before. */
function expectHeadsInOrder(follower: Follower): LogHead | undefined {
  let seq = follower.after;
  let last: LogHead | undefined;
  for (const item of follower.items) {
    if (item.type === 'event') seq = item.row.seq;
    if (item.type !== 'head') continue;
    expect(item.head.version).toBeLessThanOrEqual(seq);
    expect(item.head.version).toBeGreaterThanOrEqual(last?.version ?? follower.after);
    last = item.head;
  }
  return last;
}

test('every tail gives exactly the log from its cursor, whatever is told, lost, late or doubled', async () => {
  const options = fc.record({
    maxBufferedEvents: fc.integer({ min: 1, max: 6 }),
    maxBufferedBytes: fc.constantFrom(1, 400, 1_000_000),
    pageSize: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(options, fc.array(step, { minLength: 5, maxLength: 60 }), async (sizes, steps) => {
      const bench = await createBench({ ...sizes, clock: createFakeClock() });
      const run = new Run(bench);
      for (const next of steps) await run.take(next);
      await run.settle();
      const { version, lease } = bench.log.head('a');
      for (const follower of run.followers) {
        const seqs = seqsOf(follower.items);
        expect(seqs).toEqual(range(follower.after + 1, follower.closed ? (seqs.at(-1) ?? 0) : version));
        const last = expectHeadsInOrder(follower);
        if (!follower.closed && last) expect(last.lease?.epoch ?? null).toBe(lease?.epoch ?? null);
      }
      expect(bench.log.mostAtOnce).toBeLessThanOrEqual(1);
      await bench.stream.close();
      expect(bench.stream.status()).toMatchObject({ tails: 0, watchedTasks: 0 });
    }),
    { numRuns: 150 },
  );
}, 120_000);
