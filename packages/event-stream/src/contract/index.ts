import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Database } from '@a2a-cluster/db';
import { createEventStream } from '../create-event-stream.js';
import type { EventStream, Tail, TailItem } from '../event-stream.js';
import type { EventStreamOptions } from '../options.js';
import { HINT_FAULTS, withCounts, withHintFault } from './hint-faults.js';
import { SCOPE, Writer, collect, collectTo, pause, range, seqsOf, suiteClock, until } from './world.js';

/** Two replicas' connections to one database, for the suite. */
export interface EventStreamFixture {
  /** Of the replica that runs the turns. */
  readonly first: Database;
  /** Of another replica; the same object where a database cannot be opened twice. */
  readonly second: Database;
  /** Removes a task and its events, behind everybody's back. */
  purge(taskId: string): Promise<void>;
  close(): Promise<void>;
}

/** What {@link describeEventStreamContract} is told. */
export interface EventStreamContract {
  /** Stands in the titles. */
  readonly name: string;
  /** Called once, before the first test. The database is empty and migrated. */
  open(): Promise<EventStreamFixture>;
}

/** The suite's replicas. Streams made by {@link Replicas.stream} are closed after each test. */
class Replicas {
  #fixture: EventStreamFixture | undefined;
  #streams: EventStream[] = [];

  get fixture(): EventStreamFixture {
    if (!this.#fixture) throw new Error('the suite has not been opened');
    return this.#fixture;
  }

  async open(contract: EventStreamContract): Promise<void> {
    this.#fixture = await contract.open();
  }

  async close(): Promise<void> {
    await this.#fixture?.close();
  }

  async stream(database: Database, options: EventStreamOptions = {}): Promise<EventStream> {
    const stream = createEventStream({ database, clock: suiteClock(), options });
    this.#streams.push(stream);
    await stream.start();
    return stream;
  }

  async pair(options: EventStreamOptions = {}): Promise<{ near: EventStream; far: EventStream }> {
    const near = await this.stream(this.fixture.first, options);
    return { near, far: await this.stream(this.fixture.second, options) };
  }

  /** A task with its first event, told to the stream if one is given. */
  async task(near?: EventStream): Promise<Writer> {
    const writer = new Writer({ database: this.fixture.first });
    const rows = await writer.create();
    near?.committed({ taskId: writer.taskId, rows, head: writer.head });
    return writer;
  }

  async closeStreams(): Promise<void> {
    const streams = this.#streams;
    this.#streams = [];
    await Promise.all(streams.map((stream) => stream.close()));
  }
}

/**
 * What every database must give a pair of event streams (protocol 7): the same gapless sequence for every
 * subscriber of either replica, whatever happens to hints, at a cost that does not grow with idle subscribers.
 */
export function describeEventStreamContract(contract: EventStreamContract): void {
  describe(`event stream on ${contract.name}`, () => {
    const replicas = new Replicas();
    beforeAll(() => replicas.open(contract));
    afterEach(() => replicas.closeStreams());
    afterAll(() => replicas.close());
    describeSequence(replicas);
    describeLeases(replicas);
    describeHints(replicas);
    describeSlowConsumers(replicas);
    describeEnds(replicas);
    describeCost(replicas);
  });
}

async function openTail(stream: EventStream, taskId: string): Promise<Tail> {
  const opened = await stream.open({ taskId, scope: SCOPE });
  if (opened === null) throw new Error(`no task ${taskId}`);
  return opened.tail;
}

function describeSequence(replicas: Replicas): void {
  test('subscribers from before, during and after a burst see one gapless sequence on both replicas', async () => {
    const { near, far } = await replicas.pair();
    const writer = await replicas.task(near);
    const { taskId } = writer;
    const reading: Promise<{ after: number; seqs: number[] }>[] = [];
    const follow = async (stream: EventStream): Promise<void> => {
      const tail = await openTail(stream, taskId);
      const after = tail.cursor;
      reading.push(collectTo(tail, 40).then((items) => ({ after, seqs: seqsOf(items) })));
    };
    for (const stream of [near, far]) await follow(stream);
    const burst = writer.stream(near, 38);
    for (const stream of [near, far, near, far]) await follow(stream);
    await burst;
    for (const stream of [near, far]) await follow(stream);
    await writer.stream(near, 1);
    for (const { after, seqs } of await Promise.all(reading)) expect(seqs).toEqual(range(after + 1, 40));
  });

  test('a tail attached before the task exists gets its log from the first event', async () => {
    const { near, far } = await replicas.pair({ pollIntervalMs: 50 });
    const writer = new Writer({ database: replicas.fixture.first });
    const tails = [near, far].map((stream) => stream.attach({ taskId: writer.taskId, after: 0 }));
    const rows = await writer.create();
    near.committed({ taskId: writer.taskId, rows, head: writer.head });
    await writer.stream(near, 4);
    for (const tail of tails) expect(seqsOf(await collectTo(tail, 5))).toEqual(range(1, 5));
  });

  test('a tail from an old position replays the log and goes on with what is new', async () => {
    const { near, far } = await replicas.pair({ pageSize: 7 });
    const writer = await replicas.task();
    await writer.write(30);
    const { taskId } = writer;
    const tails = [near, far].map((stream) => stream.attach({ taskId, after: 3, expectTask: true }));
    await writer.stream(near, 3);
    for (const tail of tails) expect(seqsOf(await collectTo(tail, 34))).toEqual(range(4, 34));
  });

  test('what a replica reports is in the log before and after, message rows included', async () => {
    const { near, far } = await replicas.pair();
    const writer = await replicas.task(near);
    near.released(await writer.release());
    const tails = [await openTail(near, writer.taskId), await openTail(far, writer.taskId)];
    const rows = await writer.followUp();
    near.committed({ taskId: writer.taskId, rows, head: writer.head });
    await writer.stream(near, 2);
    for (const tail of tails) {
      const items = await collectTo(tail, 4);
      const kinds = items.flatMap((item) => (item.type === 'event' ? [item.event.kind] : []));
      expect(kinds).toEqual(['message', 'statusUpdate', 'statusUpdate']);
    }
  });

  test('tails of one task on one replica share the decoded event', async () => {
    const { near } = await replicas.pair();
    const writer = await replicas.task(near);
    const tails = [await openTail(near, writer.taskId), await openTail(near, writer.taskId)];
    await writer.stream(near, 1);
    const [one, other] = await Promise.all(tails.map((tail) => tail.next()));
    expect(one).toMatchObject({ type: 'event', row: { seq: 2 } });
    expect(one?.type === 'event' && other?.type === 'event' && one.event === other.event).toBe(true);
  });

  test('open gives null for another owner and for ids no task can have', async () => {
    const { near } = await replicas.pair();
    const { taskId } = await replicas.task(near);
    expect(await near.open({ taskId, scope: { tenant: '', owner: 'somebody' } })).toBeNull();
    expect(await near.open({ taskId: `${taskId} `, scope: SCOPE })).toBeNull();
    expect(await near.open({ taskId: 'nul\u0000', scope: SCOPE })).toBeNull();
    expect(near.status()).toMatchObject({ watchedTasks: 0, tails: 0 });
  });
}

function describeLeases(replicas: Replicas): void {
  test('a head comes only after every event up to its version', async () => {
    const { near, far } = await replicas.pair();
    const writer = await replicas.task(near);
    const tails = [near, far].map((stream) =>
      stream.attach({ taskId: writer.taskId, after: 0, expectTask: true }),
    );
    await writer.stream(near, 20);
    const rows = await writer.complete();
    const head = { ...writer.head, lease: null };
    near.committed({ taskId: writer.taskId, rows, head });
    for (const tail of tails) {
      const items = await collect(tail, (item) => item.type === 'head' && item.head.lease === null);
      expect(seqsOf(items)).toEqual(range(1, 22));
      expectHeadsInOrder(items);
      expect(items.at(-1)).toMatchObject({
        type: 'head',
        head: { version: 22, state: 'TASK_STATE_COMPLETED' },
      });
    }
  });

  test('the release of a lease is seen on both replicas', async () => {
    const { near, far } = await replicas.pair();
    const writer = await replicas.task(near);
    const tails = [await openTail(near, writer.taskId), await openTail(far, writer.taskId)];
    const pulls = tails.map((tail) => tail.next());
    near.released(await writer.release());
    for (const item of await Promise.all(pulls)) {
      expect(item).toMatchObject({ type: 'head', head: { version: 1, lease: null } });
    }
  });

  test('watchers of a head hear of a cancel mark set by another replica, without a tail', async () => {
    const { near, far } = await replicas.pair();
    const writer = await replicas.task(near);
    const { taskId } = writer;
    const marks: (number | null)[] = [];
    const unwatch = near.watchHead({
      taskId,
      onHead: (head) => marks.push(head?.lease?.cancelAgeMs ?? null),
    });
    await replicas.fixture.second.leases.markCancel({ taskId, epoch: 1 });
    far.hint(taskId);
    await until(() => marks.some((mark) => mark !== null));
    unwatch();
    expect(near.status().watchedTasks).toBe(0);
  });
}

function expectHeadsInOrder(items: readonly TailItem[]): void {
  let seq = 0;
  for (const item of items) {
    if (item.type === 'event') seq = item.row.seq;
    if (item.type === 'head') expect(item.head.version).toBeLessThanOrEqual(seq);
  }
}

function describeHints(replicas: Replicas): void {
  test.each(HINT_FAULTS)('hints that are %s change nothing but the time it takes', async (fault) => {
    const { first, second } = replicas.fixture;
    const options = { pollIntervalMs: 100 };
    const near = await replicas.stream(withHintFault(first, fault), options);
    const far = await replicas.stream(withHintFault(second, fault), options);
    const writer = await replicas.task(near);
    const tails = [await openTail(near, writer.taskId), await openTail(far, writer.taskId)];
    const reading = tails.map((tail) =>
      collect(tail, (item) => item.type === 'head' && item.head.lease === null),
    );
    await writer.stream(near, 20);
    near.released(await writer.release());
    for (const items of await Promise.all(reading)) {
      expect(seqsOf(items)).toEqual(range(2, 21));
      expectHeadsInOrder(items);
    }
  });

  test('what nobody reported is found by asking', async () => {
    const { near, far } = await replicas.pair({ pollIntervalMs: 50 });
    const writer = await replicas.task();
    const tails = [await openTail(near, writer.taskId), await openTail(far, writer.taskId)];
    await writer.write(5);
    for (const tail of tails) expect(seqsOf(await collectTo(tail, 6))).toEqual(range(2, 6));
  });
}

function describeSlowConsumers(replicas: Replicas): void {
  const small: EventStreamOptions[] = [
    { maxBufferedEvents: 5, pageSize: 3 },
    { maxBufferedBytes: 1000, pageSize: 10 },
    { maxBufferedBytes: 1, pageSize: 4 },
  ];
  test.each(small)(
    'a consumer that lags behind its buffer %j gets everything in the end',
    async (options) => {
      const { near, far } = await replicas.pair(options);
      const writer = await replicas.task(near);
      const { taskId } = writer;
      const slow = [await openTail(near, taskId), await openTail(far, taskId)];
      const fast = [near, far].map(async (stream) => collectTo(await openTail(stream, taskId), 51));
      await writer.stream(near, 50);
      await Promise.all(fast);
      for (const tail of slow) {
        const items: TailItem[] = [];
        while (tail.cursor < 51) {
          const item = await tail.next();
          if (item !== null) items.push(item);
          if (tail.cursor % 10 === 0) await pause(1);
        }
        expect(seqsOf(items)).toEqual(range(2, 51));
      }
    },
  );
}

function describeEnds(replicas: Replicas): void {
  test('an abort ends a waiting tail and frees the task', async () => {
    const { near } = await replicas.pair();
    const writer = await replicas.task(near);
    const controller = new AbortController();
    const opened = await near.open({ taskId: writer.taskId, scope: SCOPE, signal: controller.signal });
    const pull = opened?.tail.next();
    expect(near.status()).toMatchObject({ tails: 1, watchedTasks: 1 });
    controller.abort();
    expect(await pull).toBeNull();
    expect(near.status()).toMatchObject({ tails: 0, watchedTasks: 0 });
  });

  test('a task that is removed ends its tails with gone, on both replicas', async () => {
    const { near, far } = await replicas.pair({ pollIntervalMs: 50 });
    const writer = await replicas.task(near);
    const { taskId } = writer;
    const tails = [await openTail(near, taskId), await openTail(far, taskId)];
    const heads: unknown[] = [];
    const unwatch = far.watchHead({ taskId, onHead: (head) => heads.push(head) });
    await replicas.fixture.purge(taskId);
    for (const tail of tails) {
      const items = await collect(tail, () => false);
      expect(items.at(-1)).toEqual({ type: 'gone' });
      expect(await tail.next()).toBeNull();
    }
    expect(heads.filter((head) => head === null)).toHaveLength(1);
    unwatch();
  });

  test('an unreadable event ends the tails that need it, and no other', async () => {
    const { near, far } = await replicas.pair({ pollIntervalMs: 50 });
    const [bad, good] = [await replicas.task(near), await replicas.task(near)];
    const badTails = [await openTail(near, bad.taskId), await openTail(far, bad.taskId)];
    const goodTail = await openTail(far, good.taskId);
    await bad.write(1);
    await bad.writeRaw('{"not":"an event"}');
    await good.stream(near, 3);
    const behind = far.attach({ taskId: bad.taskId, after: 3, expectTask: true });
    await bad.write(1);
    for (const tail of badTails) {
      await expect(collectTo(tail, 4)).rejects.toMatchObject({ code: 'ROW_CORRUPT' });
      expect(tail.cursor).toBe(2);
      expect(await tail.next()).toBeNull();
    }
    expect(seqsOf(await collectTo(behind, 4))).toEqual([4]);
    expect(seqsOf(await collectTo(goodTail, 4))).toEqual(range(2, 4));
  });

  test('close ends every tail and refuses new ones', async () => {
    const { near } = await replicas.pair();
    const writer = await replicas.task(near);
    const tail = await openTail(near, writer.taskId);
    const pull = tail.next();
    await near.close();
    expect(await pull).toBeNull();
    await expect(near.open({ taskId: writer.taskId, scope: SCOPE })).rejects.toMatchObject({
      code: 'CLOSED',
    });
    expect(() => near.attach({ taskId: writer.taskId, after: 0 })).toThrow(/closed/);
    expect(near.status()).toMatchObject({ tails: 0, watchedTasks: 0 });
  });
}

function describeCost(replicas: Replicas): void {
  test('a thousand idle tails cost one query per interval, as one does, and none when they are closed', async () => {
    const intervalMs = 60;
    const { database, counts } = withCounts(replicas.fixture.second);
    const far = await replicas.stream(database, { hints: 'poll', pollIntervalMs: intervalMs });
    const writers = [];
    for (let made = 0; made < 10; made += 1) writers.push(await replicas.task());
    const tails = writers.flatMap(({ taskId, version }) =>
      Array.from({ length: 100 }, () => far.attach({ taskId, after: version })),
    );
    for (const tail of tails) void tail.next();
    const { calls } = counts;
    await until(() => calls.readHeads > 0);
    const startMs = suiteClock().monotonicMs();
    const before = calls.readHeads;
    await until(() => calls.readHeads >= before + 5);
    const elapsedMs = suiteClock().monotonicMs() - startMs;
    const reads = calls.readHeads - before;
    expect(reads).toBeLessThanOrEqual(elapsedMs / intervalMs + 1);
    expect(calls).toMatchObject({ readTask: 0, readEvents: 0, readEventsOf: 0 });
    expect(counts.mostHeadsAtOnce).toBe(1);
    for (const tail of tails) tail.close();
    const after = calls.readHeads;
    await pause(intervalMs * 3);
    expect(calls.readHeads - after).toBeLessThanOrEqual(1);
  });
}
