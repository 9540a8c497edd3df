import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSilentLogger, createSystemClock, sleep, type NewEvent } from '@a2a-cluster/core';
import { createMysqlDatabase } from '../src/mysql/database.js';
import { openSession } from '../src/mysql/session.js';
import { lockSecondsOf } from '../src/mysql/session-settings.js';
import { parseTarget } from '../src/mysql/target.js';
import { event, followUp, newTask, sweepOf, writeOf, type MadeTask } from '../src/contract/context.js';
import type { Database } from '../src/database.js';
import { MysqlBench, rejection } from './support/mysql.js';

let bench: MysqlBench;
beforeEach(async () => {
  bench = await MysqlBench.open();
});
afterEach(() => bench.close());

async function makeTask(db: Database, ttlMs = 600_000): Promise<MadeTask> {
  const create = newTask({ ttlMs });
  await db.journal.createTask(create);
  return { ...create, epoch: 1, version: 1 };
}

const versionOf = async (db: Database, { taskId }: MadeTask): Promise<number | undefined> =>
  (await db.journal.look({ taskId }))?.version;

/** Holds the row that a commit of `seq` would insert, so that its last text waits in the middle. */
const holdEvent = ({ taskId }: MadeTask, seq: number) =>
  bench.hold(`INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
    VALUES ('${taskId}', ${seq}, 'statusUpdate', '{}', 'foreign', 'foreign', 1)`);

describe('locks of others', () => {
  test('one locked lease does not hold up the beat of the rest, and is renewed when it is free', async () => {
    const db = await bench.replica();
    const leases = [];
    for (let n = 0; n < 20; n += 1) leases.push(await makeTask(db));
    const [locked] = leases;
    if (!locked) throw new Error('a task');
    const { holder } = locked;
    const lock = await bench.hold(`SELECT * FROM task_leases WHERE task_id = '${locked.taskId}' FOR UPDATE`);

    const renewed = await db.leases.beat({ holder, ttlMs: 60_000, leases });
    const expected = leases.slice(1).map(({ taskId }) => taskId);
    expect(renewed.map(({ taskId }) => taskId).sort()).toEqual(expected.sort());
    const one = { holder, ttlMs: 60_000, lease: locked };
    expect(await db.leases.beatOne({ ...one, waitMs: 120 })).toBeNull();

    const waiting = db.leases.beatOne({ ...one, waitMs: 10_000 });
    await lock.free();
    expect(await waiting).toMatchObject({ taskId: locked.taskId, epoch: 1 });
  });

  test('a beat of one lease that is gone does not wait', async () => {
    const db = await bench.replica();
    const lease = await makeTask(db);
    const clock = createSystemClock();
    const startMs = clock.monotonicMs();
    expect(await db.leases.beatOne({ holder: 'another', ttlMs: 1_000, lease, waitMs: 20_000 })).toBeNull();
    expect(clock.monotonicMs() - startMs).toBeLessThan(5_000);
  });

  test('a commit that loses a deadlock is tried again and stored once', async () => {
    const db = await bench.replica();
    const [task, other] = [await makeTask(db), await makeTask(db)];
    // The wrong order, lease before task, with more written than the commit, so that the commit is the victim.
    const lock = await bench.hold(
      `UPDATE tasks SET tenant = 'x' WHERE id = '${other.taskId}'; UPDATE tasks SET tenant = 'y' WHERE id = '${other.taskId}';
       SELECT * FROM task_leases WHERE task_id = '${task.taskId}' FOR UPDATE`,
    );
    const committing = db.journal.commit(writeOf(task));
    await bench.untilRunning('%FROM task_leases%FOR UPDATE%');
    await lock.raw.run(`SELECT * FROM tasks WHERE id = '${task.taskId}' FOR UPDATE`);
    await lock.free();
    expect(await committing).toEqual({ ok: true, version: 2 });
    expect(await versionOf(db, task)).toBe(2);
  });

  test('a lock timeout in the middle of the writes leaves nothing of them, and the commit is tried again', async () => {
    const db = await bench.replica({ ttlMs: 3_000 });
    const task = await makeTask(db);
    const lock = await holdEvent(task, 2);
    const committing = db.journal.commit(writeOf(task, { state: 'TASK_STATE_COMPLETED', terminal: true }));
    const first = await bench.untilRunning('%INSERT INTO task_events%');
    while ((await bench.connections('%INSERT INTO task_events%')).includes(first));
    expect(await versionOf(db, task)).toBe(1);
    await lock.free();
    expect(await committing).toEqual({ ok: true, version: 2 });
    expect(await db.log.readEvents({ taskId: task.taskId, after: 0, limit: 9 })).toHaveLength(2);
  });

  test('a lock that stays is told as a fault with the errno, and nothing was stored', async () => {
    const db = await bench.replica({ ttlMs: 3_000, statementTimeoutMs: 1_500 });
    const task = await makeTask(db);
    const lock = await bench.hold(`SELECT * FROM tasks WHERE id = '${task.taskId}' FOR UPDATE`);
    const fault = await rejection(db.journal.commit(writeOf(task)));
    expect(fault).toMatchObject({ code: 'STORE_FAULT', details: { errno: 1205 } });
    await lock.free();
    expect(await versionOf(db, task)).toBe(1);
  });

  test('a lease that is renewed after a sweep saw it expired is not swept', async () => {
    const [db, other] = [await bench.replica({ poolSize: 2 }), await bench.replica()];
    const [task, blocker] = [await makeTask(db, 1), await makeTask(db)];
    const lock = await bench.hold(`SELECT * FROM tasks WHERE id = '${blocker.taskId}' FOR UPDATE`);
    // The one journal connection waits for the lock, so the sweep stops between its candidates and their locks.
    const blocked = db.journal.commit(writeOf(blocker));
    await bench.untilRunning('%FROM tasks WHERE%FOR UPDATE%');
    const sweeping = db.journal.sweep(sweepOf({ taskId: task.taskId }));
    await db.ping();
    await other.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] });
    await lock.free();
    expect(await blocked).toMatchObject({ ok: true });
    expect(await sweeping).toEqual({ swept: [], candidates: 1 });
    expect(await versionOf(db, task)).toBe(1);
  });

  test('a client stopped inside a transaction is ended by the server, and its task can be swept', async () => {
    const db = await bench.replica();
    const task = await makeTask(db, 10);
    const limits = { statementMs: 5_000, connectMs: 5_000, lockSeconds: lockSecondsOf(3_000) };
    const stopped = await openSession({
      target: parseTarget(bench.server.url),
      limits,
      multipleStatements: true,
      clock: createSystemClock(),
      logger: createSilentLogger(),
    });
    await stopped.query(`START TRANSACTION; SELECT * FROM tasks WHERE id = '${task.taskId}' FOR UPDATE;
      SELECT * FROM task_leases WHERE task_id = '${task.taskId}' FOR UPDATE`);
    const sweep = () => db.journal.sweep(sweepOf({ taskId: task.taskId }));
    while (((await db.leases.nextExpiry()) ?? 0) >= 0) await db.ping();
    expect(await sweep()).toEqual({ swept: [], candidates: 1 });
    let outcome = await sweep();
    while (outcome.swept.length === 0) outcome = await sweep();
    expect(outcome.swept).toMatchObject([{ taskId: task.taskId, failed: { seq: 2 } }]);
    await expect(stopped.query('COMMIT')).rejects.toThrow();
    expect(stopped.isAlive()).toBe(false);
  });
});

describe('killed connections', () => {
  test('that rested are replaced without a word', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    await db.tasks.list({ scope: task.scope, limit: 1 });
    await db.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] });
    const ids = await bench.connections();
    expect(ids.length).toBeGreaterThanOrEqual(3);
    for (const id of ids) await bench.kill(id);
    while ((await bench.connections()).length > 0);
    expect(await db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
    expect(await db.leases.beat({ holder: task.holder, ttlMs: 60_000, leases: [task] })).toHaveLength(1);
    expect(await db.tasks.list({ scope: task.scope, limit: 1 })).toMatchObject({ total: 1 });
    await db.ping();
  });

  test('before the COMMIT was sent: a fault, and nothing was stored', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    const lock = await bench.hold(`SELECT * FROM tasks WHERE id = '${task.taskId}' FOR UPDATE`);
    const failing = rejection(db.journal.commit(writeOf(task)));
    await bench.kill(await bench.untilRunning('%FROM tasks WHERE%FOR UPDATE%'));
    expect(await failing).toMatchObject({ code: 'STORE_FAULT', details: { errno: expect.any(Number) } });
    await lock.free();
    expect(await versionOf(db, task)).toBe(1);
  });

  test('after the COMMIT was sent: the outcome is unknown', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    const lock = await holdEvent(task, 2);
    const failing = rejection(db.journal.commit(writeOf(task)));
    await bench.kill(await bench.untilRunning('%INSERT INTO task_events%'));
    expect(await failing).toMatchObject({ code: 'UNKNOWN_OUTCOME', details: { errno: expect.any(Number) } });
    await lock.free();
    expect(await db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
  });
});

describe('a network that fails', () => {
  test('an answer that never comes leaves the outcome unknown, and the write can be looked for', async () => {
    const near = await bench.replica();
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url, statementTimeoutMs: 700 });
    const task = await makeTask(far);
    const lock = await holdEvent(task, 2);
    const own: NewEvent = event();
    const failing = rejection(far.journal.commit(writeOf(task, { events: [own] })));
    await bench.untilRunning('%INSERT INTO task_events%');
    const swallowed = way.swallow();
    await lock.free();
    await swallowed;
    expect(await failing).toMatchObject({ code: 'UNKNOWN_OUTCOME', details: { code: 'CLIENT_TIMEOUT' } });
    const { taskId } = task;
    expect(await near.journal.findOwnWrite({ taskId, seq: 2, writeId: own.writeId })).toBe(true);
    expect(await near.journal.findOwnWrite({ taskId, seq: 2, writeId: 'another' })).toBe(false);
  });

  test('a connection that went mute while it rested is not written to', async () => {
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url });
    const task = await makeTask(far);
    way.muteOpen();
    await sleep({ clock: createSystemClock(), delayMs: 600 });
    expect(await far.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
  });

  test('a beat does not hang longer than a fifth of the TTL', async () => {
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url, ttlMs: 3_000 });
    const task = await makeTask(far);
    await far.leases.readClock();
    way.mute();
    const clock = createSystemClock();
    const startMs = clock.monotonicMs();
    await rejection(far.leases.beat({ holder: task.holder, ttlMs: 3_000, leases: [task] }));
    expect(clock.monotonicMs() - startMs).toBeLessThan(1_500);
  });

  test('finds no statement of the driver in a connect: when one fails, nobody can catch what it rejects', async () => {
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url });
    await far.ping();
    const said = way.said.join('');
    expect(said).toContain("SESSION time_zone = '+00:00'");
    expect(said.split('SET SESSION TRANSACTION')[0]).not.toMatch(/SET |SELECT /);
  });

  test('a connection that opens after its caller gave up serves the next one', async () => {
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url, poolSize: 2, statementTimeoutMs: 500 });
    await far.ping();
    way.mute();
    const clock = createSystemClock();
    const hanging = rejection(far.ping());
    await sleep({ clock, delayMs: 350 });
    // Waits for the one connection; when that is given up, another is opened for it, too late.
    const waiting = rejection(far.ping());
    expect(await hanging).toMatchObject({ code: 'STORE_FAULT', details: { code: 'CLIENT_TIMEOUT' } });
    expect(await waiting).toMatchObject({ code: 'STORE_FAULT' });
    way.unmute();
    await far.ping();
  });

  test('close is bounded, and what waits is told', async () => {
    const way = await bench.proxy();
    const far = await bench.replica({ url: way.url, poolSize: 2 });
    await far.ping();
    way.mute();
    const clock = createSystemClock();
    const startMs = clock.monotonicMs();
    const hanging = [rejection(far.ping()), rejection(far.ping())];
    await Promise.all([far.close(), far.close()]);
    expect((await Promise.all(hanging)).map(({ code }) => code)).toContain('CLOSED');
    expect(clock.monotonicMs() - startMs).toBeLessThan(5_000);
    expect(await rejection(far.ping())).toMatchObject({ code: 'CLOSED' });
  });

  test('a server that is not there is told at once, also to what goes through Prisma', async () => {
    const way = await bench.proxy();
    await way.close();
    const db = await bench.replica({ url: way.url.replace('root@', 'root:s3cret@') });
    for (const attempt of [
      db.ping(),
      db.check({ maxEventBytes: 1 }),
      db.journal.createTask(newTask()),
      db.leases.beat({ holder: 'a', ttlMs: 1, leases: [{ taskId: 't', epoch: 1 }] }),
      db.tasks.list({ scope: null, limit: 1 }),
      db.pushConfigs.load({ taskId: 't', scope: { tenant: '', owner: 'alice' } }),
    ]) {
      const fault = await rejection(attempt);
      expect(fault.code).toBe('DATABASE_UNREACHABLE');
      expect(JSON.stringify([fault.message, fault.details, String(fault.cause)])).not.toContain('s3cret');
    }
  });

  test('a server that refuses the user is told as such, without the password', async () => {
    const url = bench.server.url.replace('root@', 'nobody:s3cret@');
    const db = await bench.replica({ url });
    const fault = await rejection(db.check({ maxEventBytes: 1 }));
    expect(fault).toMatchObject({ code: 'DATABASE_UNSUITABLE', details: { errno: expect.any(Number) } });
    expect(fault.message).not.toContain('s3cret');
  });

  test('a URL that cannot be read is told without being quoted', async () => {
    const fault = await rejection(createMysqlDatabase({ url: 'mysql://root:s3cret@:x/db', ttlMs: 1 }));
    expect(fault).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(fault.message).not.toContain('s3cret');
  });
});

describe('long writes', () => {
  const megabytes = (count: number): string => JSON.stringify({ text: 'x'.repeat(count * 1_048_576) });

  test('a batch longer than the server takes goes in several texts and one transaction', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    const events = [7, 7, 7].map((count) => event('artifactUpdate', { payload: megabytes(count) }));
    expect(await db.journal.commit(writeOf(task, { events }))).toEqual({ ok: true, version: 4 });
    const rows = await db.log.readEvents({ taskId: task.taskId, after: 1, limit: 9 });
    expect(rows.map(({ payload }, index) => payload === events[index]?.payload)).toEqual([true, true, true]);
  });

  test('a snapshot longer than the server takes is left out, the events are stored', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    expect(await db.journal.commit(writeOf(task, { snapshot: megabytes(17) }))).toEqual({
      ok: true,
      version: 2,
    });
    expect(await db.log.readTask({ taskId: task.taskId })).toMatchObject({ version: 2, snapshot: null });
  });

  test('an event longer than the server takes is refused before it is sent', async () => {
    const db = await bench.replica();
    const task = await makeTask(db);
    const events = [event('artifactUpdate', { payload: megabytes(17) })];
    expect(await rejection(db.journal.commit(writeOf(task, { events })))).toMatchObject({
      code: 'EVENT_TOO_LARGE',
    });
    expect(await versionOf(db, task)).toBe(1);
    expect(await db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
  });
});

test('a refused follow-up leaves no transaction open on its connection', async () => {
  const db = await bench.replica({ poolSize: 2 });
  const task = await makeTask(db);
  expect(await db.journal.openTurn(followUp(task))).toMatchObject({ ok: false, refusal: 'busy' });
  const rows = await bench.raw.query(
    'SELECT COUNT(*) AS open FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE p.DB = DATABASE()',
  );
  expect(Number(rows[0]?.['open'])).toBe(0);
});
