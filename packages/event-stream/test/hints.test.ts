import { describe, expect, test } from '@jest/globals';
import type { HintListener, HintSource } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createEventStream } from '../src/index.js';
import { FakeLog, createBench, gather, range } from './harness.js';

type Handlers = Parameters<Extract<HintSource, { kind: 'listen' }>['listen']>[0];

/** A NOTIFY channel of one process, with everything that can go wrong with it. */
class FakeChannel {
  readonly kind = 'listen';
  readonly sent: { atMs: number; taskIds: readonly string[] }[] = [];
  readonly listeners = new Set<Handlers>();
  attempts: number[] = [];
  refuse: Error | null = null;
  failSend: Error | null = null;
  sendLatencyMs = 0;
  closed = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  async notify(taskIds: readonly string[]): Promise<void> {
    this.sent.push({ atMs: this.#clock.monotonicMs(), taskIds });
    if (this.sendLatencyMs > 0) {
      await new Promise<void>((resolve) => this.#clock.setTimer(this.sendLatencyMs, resolve));
    }
    if (this.failSend) throw this.failSend;
    for (const listener of this.listeners) listener.onHint(taskIds);
  }

  async listen(handlers: Handlers): Promise<HintListener> {
    this.attempts.push(this.#clock.monotonicMs());
    if (this.refuse) throw this.refuse;
    this.listeners.add(handlers);
    return {
      close: async () => {
        this.closed += 1;
        this.listeners.delete(handlers);
      },
    };
  }

  breakAll(): void {
    for (const listener of [...this.listeners]) {
      this.listeners.delete(listener);
      listener.onLost(new Error('connection reset'));
    }
  }
}

async function createPair() {
  const clock = createFakeClock();
  const channel = new FakeChannel(clock);
  return { channel, ...(await createBench({ source: channel, clock })) };
}

describeServiceStress('a listening event stream', (clock) =>
  createEventStream({
    database: { log: new FakeLog(clock).statements, hints: new FakeChannel(clock), provider: 'postgresql' },
    clock,
  }),
);

describe('LISTEN', () => {
  test('a hint for a watched task reads only that task, any other hint reads nothing', async () => {
    const { clock, channel, log, stream } = await createPair();
    for (const taskId of ['a', 'b']) log.create(taskId);
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    gather(stream.attach({ taskId: 'b', after: 1 }));
    log.append('a', 1);
    await channel.notify(['a', 'x']);
    await channel.notify(['x']);
    await clock.flush();
    expect(tail.seqs()).toEqual([2]);
    expect(log.asked).toEqual([['a']]);
    await clock.advance(1_000);
    expect(log.asked).toHaveLength(2);
    expect(stream.status()).toMatchObject({ mode: 'listen', listening: true });
  });

  test('the echo of an own hint costs no read, the hint of another replica beside it does', async () => {
    const { clock, channel, log, stream } = await createPair();
    const tail = gather(stream.attach({ taskId: 'a', after: 0 }));
    stream.committed({ taskId: 'a', rows: log.create('a'), head: log.head('a') });
    await clock.flush();
    expect(tail.seqs()).toEqual([1]);
    expect(log.calls.readHeads).toBe(0);
    log.append('a', 1);
    await channel.notify(['a']);
    await clock.flush();
    expect(tail.seqs()).toEqual([1, 2]);
    expect(log.calls.readHeads).toBe(1);
  });

  test('a lost connection is replaced after a growing pause, and everything is read at once after it', async () => {
    const { clock, channel, log, stream } = await createPair();
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    await clock.advance(100);
    channel.refuse = new Error('too many connections');
    channel.breakAll();
    await clock.advance(3_000);
    expect(stream.status().listening).toBe(false);
    const pauses = channel.attempts.slice(1).map((atMs, index, all) => atMs - (all[index - 1] ?? 100));
    expect(pauses).toEqual([100, 200, 400, 800]);
    channel.refuse = null;
    log.append('a', 2);
    const reads = log.calls.readHeads;
    await clock.advance(250);
    expect(tail.seqs()).toEqual([2, 3]);
    expect(log.calls.readHeads).toBeGreaterThan(reads);
    await clock.advance(2_000);
    expect(stream.status().listening).toBe(true);
  });

  test('without a connection the heads are read at the short interval', async () => {
    const clock = createFakeClock();
    const channel = new FakeChannel(clock);
    channel.refuse = new Error('no');
    const { log, stream, warnings } = await createBench({ source: channel, clock });
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    await clock.advance(5_000);
    log.append('a', 1);
    await clock.advance(250);
    expect(tail.seqs()).toEqual([2]);
    expect(warnings).toHaveLength(1);
  });

  test('what an old connection still says after it was lost is not taken for a new loss', async () => {
    const { clock, channel, stream } = await createPair();
    const [old] = [...channel.listeners];
    channel.breakAll();
    await clock.advance(200);
    expect(stream.status().listening).toBe(true);
    old?.onLost(new Error('again'));
    await clock.advance(10_000);
    expect(stream.status().listening).toBe(true);
    expect(channel.attempts).toHaveLength(2);
  });

  test('is refused where the database has none, and left alone where polling is asked for', async () => {
    const clock = createFakeClock();
    const database = {
      log: new FakeLog(clock).statements,
      hints: { kind: 'none' as const },
      provider: 'mysql' as const,
    };
    expect(() => createEventStream({ database, clock, options: { hints: 'listen' } })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
    expect(() => createEventStream({ database, clock, options: { pageSize: 0 } })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
    const channel = new FakeChannel(clock);
    const { stream, log } = await createBench({ source: channel, clock, hints: 'poll' });
    stream.committed({ taskId: 'a', rows: log.create('a'), head: log.head('a') });
    await clock.advance(1_000);
    expect(channel.attempts).toEqual([]);
    expect(channel.sent).toEqual([]);
    expect(stream.status()).toMatchObject({ mode: 'poll', listening: false });
  });
});

describe('outgoing hints', () => {
  test('the first goes at once, the rest at most once per window, each id once', async () => {
    const { clock, channel, log, stream } = await createPair();
    for (const taskId of ['a', 'b']) log.create(taskId);
    for (const ms of range(1, 25)) {
      for (const taskId of ['a', 'b', 'a']) stream.hint(taskId);
      if (ms === 1) expect(channel.sent).toHaveLength(1);
      await clock.advance(1);
    }
    expect(channel.sent.map(({ atMs }) => atMs)).toEqual([0, 10, 20]);
    expect(channel.sent.map(({ taskIds }) => taskIds)).toEqual([['a'], ['b', 'a'], ['a', 'b']]);
  });

  test('wait for a slow one that is under way', async () => {
    const { clock, channel, stream } = await createPair();
    channel.sendLatencyMs = 100;
    for (let ms = 0; ms < 100; ms += 5) {
      stream.hint(`t${ms}`);
      await clock.advance(5);
    }
    expect(channel.sent.length).toBeLessThanOrEqual(2);
    await clock.advance(200);
    expect(channel.sent.flatMap(({ taskIds }) => taskIds)).toHaveLength(20);
  });

  test('that fail are told of once and forgotten', async () => {
    const { clock, channel, stream, warnings } = await createPair();
    channel.failSend = new Error('no');
    for (let i = 0; i < 50; i += 1) {
      stream.hint('a');
      await clock.advance(20);
    }
    expect(warnings).toEqual(['sending a hint failed']);
    channel.failSend = null;
    const before = channel.sent.length;
    await clock.advance(1_000);
    expect(channel.sent).toHaveLength(before);
  });

  test('that wait are sent before the stream is closed', async () => {
    const { clock, channel, stream } = await createPair();
    stream.hint('a');
    stream.hint('b');
    await stream.close();
    expect(channel.sent.flatMap(({ taskIds }) => taskIds)).toEqual(['a', 'b']);
    expect(channel.listeners.size).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('do not hold up the close when the database does not answer', async () => {
    const { clock, channel, stream } = await createPair();
    channel.sendLatencyMs = 10_000_000;
    stream.hint('a');
    let closed = false;
    void stream.close().then(() => (closed = true));
    await clock.advance(5_000);
    expect(closed).toBe(true);
  });
});

describe('the change counter', () => {
  test('is read while something is watched; only a change reads the heads', async () => {
    const clock = createFakeClock();
    let counter = 7;
    let reads = 0;
    const source: HintSource = { kind: 'counter', read: () => ((reads += 1), counter) };
    const { log, stream } = await createBench({ source, clock, pollIntervalMs: 60_000 });
    log.create('a');
    await clock.advance(1_000);
    expect(reads).toBe(0);
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    await clock.advance(1_000);
    expect(reads).toBe(41);
    expect(log.calls.readHeads).toBe(1);
    log.append('a', 2);
    counter += 1;
    await clock.advance(25);
    expect(tail.seqs()).toEqual([2, 3]);
    expect(log.calls.readHeads).toBe(2);
    tail.tail.close();
    const before = reads;
    await clock.advance(1_000);
    expect(reads).toBe(before);
    expect(stream.status().mode).toBe('counter');
  });

  test('that cannot be read leaves the interval behind it', async () => {
    const clock = createFakeClock();
    const source: HintSource = {
      kind: 'counter',
      read: () => {
        throw new Error('file is gone');
      },
    };
    const { log, stream, warnings } = await createBench({ source, clock });
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    log.append('a', 1);
    await clock.advance(1_000);
    expect(tail.seqs()).toEqual([2]);
    expect(warnings).toHaveLength(1);
  });
});
