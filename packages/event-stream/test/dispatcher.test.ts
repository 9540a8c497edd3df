import { describe, expect, test } from '@jest/globals';
import { ClusterError } from '@a2a-cluster/core';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createEventStream } from '../src/index.js';
import { FakeLog, SCOPE, createBench, gather, range } from './harness.js';

const POLL_MS = 250;

describeServiceStress('an event stream', (clock) =>
  createEventStream({
    database: { log: new FakeLog(clock).statements, hints: { kind: 'none' }, provider: 'memory' },
    clock,
  }),
);

describe('the one query of a replica', () => {
  test('asks for every watched task once per interval, however many tails and watchers there are', async () => {
    const { clock, log, stream } = await createBench();
    for (const taskId of ['a', 'b', 'c']) log.create(taskId);
    for (let i = 0; i < 300; i += 1) gather(stream.attach({ taskId: i % 2 ? 'a' : 'b', after: 1 }));
    stream.watchHead({ taskId: 'c', onHead: () => {} });
    await clock.advance(POLL_MS * 10);
    expect(log.calls).toEqual({ readTask: 0, readHeads: 10, readEvents: 0, readEventsOf: 0 });
    for (const ids of log.asked) expect([...ids].sort()).toEqual(['a', 'b', 'c']);
  });

  test('is not made when nothing is watched', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    await clock.advance(1_000);
    stream.attach({ taskId: 'a', after: 1 }).close();
    stream.watchHead({ taskId: 'a', onHead: () => {} })();
    stream.hint('a');
    await clock.advance(1_000);
    expect(log.calls.readHeads).toBe(0);
    expect(clock.pendingTimers()).toBe(1);
  });

  test('never runs twice at a time; what comes meanwhile is one more query', async () => {
    const { clock, log, stream } = await createBench();
    for (const taskId of ['a', 'b']) {
      log.create(taskId);
      gather(stream.attach({ taskId, after: 1 }));
    }
    log.latencies = [40];
    stream.hint('a');
    for (let i = 0; i < 20; i += 1) {
      await clock.advance(1);
      stream.hint(i % 2 ? 'a' : 'b');
    }
    expect(log.calls.readHeads).toBe(1);
    await clock.advance(30);
    expect(log.calls.readHeads).toBe(2);
    expect(log.asked[0]).toEqual(['a']);
    expect([...(log.asked[1] ?? [])].sort()).toEqual(['a', 'b']);
    expect(log.mostAtOnce).toBe(1);
  });

  test('is followed by one read of rows for all that moved', async () => {
    const { clock, log, stream } = await createBench();
    const tails = range(1, 50).map((n) => {
      log.create(`t${n}`);
      return gather(stream.attach({ taskId: `t${n}`, after: 1 }));
    });
    for (const n of range(1, 50)) log.append(`t${n}`, 2);
    await clock.advance(POLL_MS);
    for (const tail of tails) expect(tail.seqs()).toEqual([2, 3]);
    expect(log.calls).toEqual({ readTask: 0, readHeads: 1, readEvents: 0, readEventsOf: 1 });
  });

  test('lets no long log keep a short one waiting', async () => {
    const { clock, log, stream } = await createBench({ pageSize: 10 });
    const tails = ['long-1', 'long-2', 'short'].map((taskId) => {
      log.create(taskId);
      return gather(stream.attach({ taskId, after: 1 }));
    });
    log.append('long-1', 500);
    log.append('long-2', 500);
    log.append('short', 1);
    log.latencies = [0, ...Array.from({ length: 120 }, () => 1)];
    await clock.advance(POLL_MS + 4);
    expect(tails.at(-1)?.seqs()).toEqual([2]);
    expect(tails[0]?.seqs().length).toBeLessThan(50);
    await clock.advance(POLL_MS * 2);
    for (const tail of tails.slice(0, 2)) expect(tail.seqs()).toEqual(range(2, 501));
  });

  test('reads on from where the tails are, not from where the task began', async () => {
    const { clock, log, stream } = await createBench({ pageSize: 10 });
    log.create('a');
    log.append('a', 99);
    const tail = gather(stream.attach({ taskId: 'a', after: 100 }));
    log.append('a', 3);
    await clock.advance(POLL_MS);
    expect(tail.seqs()).toEqual([101, 102, 103]);
    expect(log.calls).toMatchObject({ readEvents: 0, readEventsOf: 1 });
  });

  test('spares the database the events of a follow-up that runs here', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    log.append('a', 99);
    const tail = gather(stream.attach({ taskId: 'a', after: 100 }));
    stream.committed({ taskId: 'a', rows: log.append('a', 2), head: log.head('a') });
    await clock.flush();
    expect(tail.seqs()).toEqual([101, 102]);
    expect(log.calls).toEqual({ readTask: 0, readHeads: 0, readEvents: 0, readEventsOf: 0 });
  });

  test('spares the database what was committed here', async () => {
    const { log, stream, clock } = await createBench();
    const tail = gather(stream.attach({ taskId: 'a', after: 0 }));
    stream.committed({ taskId: 'a', rows: log.create('a'), head: log.head('a') });
    for (let i = 0; i < 20; i += 1) {
      stream.committed({ taskId: 'a', rows: log.append('a', 2), head: log.head('a') });
    }
    await clock.flush();
    expect(tail.seqs()).toEqual(range(1, 41));
    expect(log.calls).toEqual({ readTask: 0, readHeads: 0, readEvents: 0, readEventsOf: 0 });
  });

  test('reads the log when a local commit is not the next one, and drops what it has', async () => {
    const { log, stream, clock } = await createBench();
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    log.append('a', 3);
    const rows = log.append('a', 2);
    stream.committed({ taskId: 'a', rows, head: log.head('a') });
    stream.committed({ taskId: 'a', rows, head: log.head('a') });
    await clock.flush();
    expect(tail.seqs()).toEqual(range(2, 6));
    expect(log.calls.readEventsOf).toBe(1);
    stream.committed({ taskId: 'a', rows, head: log.head('a') });
    await clock.advance(POLL_MS);
    expect(tail.seqs()).toEqual(range(2, 6));
  });

  test('leaves out ids that no task can have, so that they spoil nothing for others', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    gather(stream.attach({ taskId: 'a', after: 1 }));
    const never = gather(stream.attach({ taskId: 'a\u0000', after: 0 }));
    const gone = gather(stream.attach({ taskId: 'b\u0000', after: 0, expectTask: true }));
    await clock.advance(POLL_MS);
    expect(log.asked).toEqual([['a']]);
    expect(gone.items).toEqual([{ type: 'gone' }]);
    expect(never.ended).toBe(false);
  });
});

describe('what is there and what is not', () => {
  test('a task that was never seen is waited for; one that is expected is gone', async () => {
    const { clock, log, stream } = await createBench();
    const waiting = gather(stream.attach({ taskId: 'a', after: 0 }));
    const expecting = gather(stream.attach({ taskId: 'b', after: 0, expectTask: true }));
    await clock.advance(POLL_MS * 4);
    expect(expecting.items).toEqual([{ type: 'gone' }]);
    expect(waiting.ended).toBe(false);
    log.create('a');
    await clock.advance(POLL_MS);
    expect(waiting.seqs()).toEqual([1]);
    log.tasks.delete('a');
    await clock.advance(POLL_MS);
    expect(waiting.items.at(-1)).toEqual({ type: 'gone' });
    expect(waiting.ended).toBe(true);
    expect(stream.status()).toMatchObject({ tails: 0, watchedTasks: 0 });
  });

  test('a query that began before the task was created does not make it gone', async () => {
    const { clock, log, stream } = await createBench();
    const tail = gather(stream.attach({ taskId: 'a', after: 0 }));
    log.latencies = [50];
    await clock.advance(POLL_MS + 10);
    expect(log.running).toBe(1);
    stream.committed({ taskId: 'a', rows: log.create('a'), head: log.head('a') });
    await clock.advance(100);
    expect(tail.ended).toBe(false);
    expect(tail.seqs()).toEqual([1]);
  });

  test('watchers hear once that the task is gone, and again when the id comes back', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    const versions: (number | null)[] = [];
    stream.watchHead({ taskId: 'a', onHead: (head) => versions.push(head?.version ?? null) });
    await clock.advance(POLL_MS);
    log.tasks.delete('a');
    await clock.advance(POLL_MS * 3);
    expect(versions).toEqual([1, null]);
    log.create('a');
    await clock.advance(POLL_MS);
    expect(versions).toEqual([1, null, 1]);
  });

  test('a watcher that throws is told of in the log and disturbs nobody', async () => {
    const { clock, log, stream, warnings } = await createBench();
    log.create('a');
    let heard = 0;
    stream.watchHead({
      taskId: 'a',
      onHead: () => {
        throw new Error('broken watcher');
      },
    });
    stream.watchHead({ taskId: 'a', onHead: () => (heard += 1) });
    await clock.advance(POLL_MS * 2);
    expect(heard).toBe(2);
    expect(warnings).toHaveLength(1);
  });

  test('rows that were pruned end the tail with an error that may be retried', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    log.append('a', 9);
    log.task('a').rows.splice(0, 6);
    const tail = gather(stream.attach({ taskId: 'a', after: 2, expectTask: true }));
    await clock.advance(1_000);
    expect(tail.error).toMatchObject({ code: 'STORE_FAULT', details: { retriable: true, reason: 'pruned' } });
  });

  test('a task whose events are purged before its row ends as gone', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    stream.committed({ taskId: 'a', rows: [], head: { ...log.head('a'), version: 3 } });
    log.tasks.delete('a');
    await clock.advance(1_000);
    expect(tail.items.at(-1)).toEqual({ type: 'gone' });
  });

  test('a log that ends before what was read of it ends the tails beyond it', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    log.append('a', 9);
    const tail = gather(stream.attach({ taskId: 'a', after: 10 }));
    const behind = gather(stream.attach({ taskId: 'a', after: 2, expectTask: true }));
    await clock.advance(POLL_MS);
    expect(behind.seqs()).toEqual(range(3, 10));
    const late = gather(stream.attach({ taskId: 'a', after: 5 }));
    await clock.flush();
    log.task('a').rows.splice(7);
    await clock.advance(POLL_MS);
    expect(tail.error).toMatchObject({ code: 'STORE_FAULT', details: { reason: 'rewound' } });
    expect(behind.ended).toBe(true);
    expect(late.ended).toBe(true);
    const next = gather(stream.attach({ taskId: 'a', after: 7 }));
    log.append('a', 2);
    await clock.advance(POLL_MS);
    expect(next.seqs()).toEqual([8, 9]);
  });
});

describe('heads', () => {
  test('one read before the turn was opened is not taken for its end', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    log.task('a').lease = null;
    const watched: unknown[] = [];
    stream.watchHead({ taskId: 'a', onHead: (head) => watched.push(head?.lease) });
    log.latencies = [50];
    await clock.advance(POLL_MS + 1);
    log.append('a', 1);
    log.task('a').lease = { holder: 'r', epoch: 2, cancelAgeMs: null };
    const tail = gather(stream.attach({ taskId: 'a', after: 2 }));
    await clock.advance(60);
    expect(tail.heads()).toEqual([]);
    await clock.advance(POLL_MS);
    expect(tail.heads()).toMatchObject([{ version: 2, lease: { epoch: 2 } }]);
  });

  test('one read before the release does not bring the lease back', async () => {
    const { clock, log, stream } = await createBench();
    const tail = gather(stream.attach({ taskId: 'a', after: 0 }));
    stream.committed({ taskId: 'a', rows: log.create('a'), head: log.head('a') });
    log.latencies = [50];
    await clock.advance(POLL_MS + 1);
    log.task('a').lease = null;
    stream.released({ taskId: 'a', epoch: 1, version: 1 });
    await clock.advance(60);
    expect(tail.heads().map(({ lease }) => lease)).toMatchObject([{ epoch: 1 }, null]);
  });

  test('are told to a tail when lease, state or cancel mark change, not for every version', async () => {
    const { clock, log, stream } = await createBench();
    log.create('a');
    const opened = await stream.open({ taskId: 'a', scope: SCOPE });
    if (!opened) throw new Error('not opened');
    const tail = gather(opened.tail);
    log.append('a', 5);
    await clock.advance(POLL_MS * 2);
    expect(tail.heads()).toEqual([]);
    log.task('a').lease = { holder: 'r', epoch: 1, cancelAgeMs: 3 };
    await clock.advance(POLL_MS * 2);
    log.task('a').lease = null;
    await clock.advance(POLL_MS * 2);
    log.task('a').state = 'TASK_STATE_INPUT_REQUIRED';
    log.append('a', 1);
    await clock.advance(POLL_MS * 2);
    expect(tail.heads().map(({ version }) => version)).toEqual([6, 6, 7]);
  });
});

describe('a database that is away', () => {
  test('is asked again after a growing pause; what was missed is delivered', async () => {
    const { clock, log, stream, warnings } = await createBench();
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    log.fault = new Error('connection refused');
    await clock.advance(10_000);
    const attempts = log.calls.readHeads;
    expect(attempts).toBeLessThanOrEqual(10_000 / POLL_MS + 5);
    expect(warnings.length).toBeLessThanOrEqual(2);
    log.append('a', 3);
    log.fault = null;
    await clock.advance(POLL_MS);
    expect(tail.seqs()).toEqual([2, 3, 4]);
    expect(stream.status().lastReadAgeMs).toBeLessThanOrEqual(POLL_MS);
  });

  test.each([
    ['refuses', new Error('connection refused'), 0],
    ['does not answer', null, 10_000_000],
  ])('ends every tail after the read timeout when it %s', async (_, fault, latencyMs) => {
    const { clock, log, stream } = await createBench({ readTimeoutMs: 30_000 });
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    await clock.advance(60_000);
    expect(tail.ended).toBe(false);
    log.fault = fault;
    log.latencies = [latencyMs];
    await clock.advance(29_000);
    expect(tail.ended).toBe(false);
    await clock.advance(3_000);
    expect(tail.error).toMatchObject({ code: 'STORE_FAULT', details: { retriable: true } });
    expect(stream.status()).toMatchObject({ tails: 0, watchedTasks: 0 });
  });

  test('ends a tail that reads for itself, too', async () => {
    const { clock, log, stream } = await createBench({
      readTimeoutMs: 5_000,
      maxBufferedEvents: 2,
      pageSize: 2,
    });
    log.create('a');
    const fast = gather(stream.attach({ taskId: 'a', after: 1 }));
    const slow = stream.attach({ taskId: 'a', after: 1 });
    for (let i = 0; i < 10; i += 1) {
      stream.committed({ taskId: 'a', rows: log.append('a', 1), head: log.head('a') });
      await clock.flush();
    }
    expect(fast.seqs()).toEqual(range(2, 11));
    log.unreadable = { taskId: 'a', seq: 2, error: new ClusterError('STORE_FAULT', 'disk on fire') };
    const pulled = gather(slow);
    await clock.advance(7_000);
    expect(pulled.error).toMatchObject({ code: 'STORE_FAULT', details: { retriable: true } });
    expect(fast.ended).toBe(false);
  });

  test('ends no tail only because the process was stopped for long', async () => {
    const { clock, log, stream } = await createBench({ readTimeoutMs: 30_000 });
    log.create('a');
    const tail = gather(stream.attach({ taskId: 'a', after: 1 }));
    await clock.advance(1_000);
    clock.stall(120_000);
    log.append('a', 1);
    log.latencies = [50];
    await clock.advance(5_000);
    expect(tail.ended).toBe(false);
    expect(tail.seqs()).toEqual([2]);
  });
});

describe('a row the database cannot read', () => {
  test('ends the tails that need it, after all rows before it, and no others', async () => {
    const { clock, log, stream } = await createBench();
    for (const taskId of ['bad', 'good']) log.create(taskId);
    const bad = gather(stream.attach({ taskId: 'bad', after: 1 }));
    const good = gather(stream.attach({ taskId: 'good', after: 1 }));
    log.append('bad', 8);
    log.append('good', 8);
    log.unreadable = { taskId: 'bad', seq: 6, error: new ClusterError('ROW_CORRUPT', 'unknown kind') };
    await clock.advance(POLL_MS * 2);
    expect(bad.seqs()).toEqual(range(2, 5));
    expect(bad.error).toMatchObject({ code: 'ROW_CORRUPT' });
    expect(good.seqs()).toEqual(range(2, 9));
    const beyond = gather(stream.attach({ taskId: 'bad', after: 6 }));
    await clock.advance(POLL_MS * 2);
    expect(beyond.seqs()).toEqual(range(7, 9));
  });
});
