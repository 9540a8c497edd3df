import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@a2a-cluster/core';
import { createTestDatabase } from '@a2a-cluster/testing';
import { createPostgresDatabase } from '../src/postgresql/database.js';
import type { CommitEvents, CreateTask } from '../src/statements/journal-statements.js';
import { createFrozenProxy } from './support/frozen-proxy.js';
import { PostgresBench, statusEvent, workingTask } from './support/postgresql.js';

let bench: PostgresBench;
beforeEach(async () => void (bench = await PostgresBench.open()));
afterEach(() => bench.close());

const writeOf = (task: CreateTask, more: Partial<CommitEvents> = {}): CommitEvents => ({
  ...{ taskId: task.taskId, expectedVersion: 1, holder: task.holder, epoch: 1, events: [statusEvent()] },
  ...{ state: null, statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null },
  ...more,
});
const lockLease = (task: CreateTask): string =>
  `SELECT 1 FROM task_leases WHERE task_id = '${task.taskId}' FOR UPDATE`;
const lockTask = (task: CreateTask): string => `SELECT 1 FROM tasks WHERE id = '${task.taskId}' FOR UPDATE`;

describe('a lock held by somebody else', () => {
  test('on one lease lets the beats of all others pass, and one beat alone waits no longer than told', async () => {
    const db = await bench.replica();
    const tasks = [workingTask(), workingTask(), workingTask()] as const;
    for (const task of tasks) await db.journal.createTask(task);
    const lock = await bench.hold(lockLease(tasks[1]));
    const leases = tasks.map(({ taskId }) => ({ taskId, epoch: 1 }));
    const beat = { holder: 'replica-a', ttlMs: 600_000 };
    const renewed = await db.leases.beat({ ...beat, leases });
    expect(renewed.map((one) => one.taskId).sort()).toEqual([tasks[0].taskId, tasks[2].taskId].sort());
    const lease = { taskId: tasks[1].taskId, epoch: 1 };
    expect(await db.leases.beatOne({ ...beat, lease, waitMs: 50 })).toBeNull();
    const waiting = db.leases.beatOne({ ...beat, lease, waitMs: 5_000 });
    await bench.untilBlocked('leases');
    await lock.free();
    expect(await waiting).toEqual({ ...lease, cancelAgeMs: null });
  });

  test('on one task does not stop a sweep of the others, and shows in the candidates', async () => {
    const db = await bench.replica();
    const tasks = [workingTask({ ttlMs: 1 }), workingTask({ ttlMs: 1 })] as const;
    for (const task of tasks) await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(tasks[0]));
    const batch = { limit: 10, sweeper: 's', statusTimestamp: 'now', text: 'lost' };
    const first = await db.journal.sweep(batch);
    expect(first.swept.map((one) => one.taskId)).toEqual([tasks[1].taskId]);
    expect(first.candidates).toBe(2);
    await lock.free();
    expect(await db.journal.sweep(batch)).toMatchObject({
      candidates: 1,
      swept: [{ taskId: tasks[0].taskId }],
    });
  });

  test('outlives the lease of a commit that waits for it: the write is refused', async () => {
    const db = await bench.replica();
    const task = workingTask({ ttlMs: 400 });
    await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(task));
    const commit = db.journal.commit(writeOf(task));
    await bench.untilBlocked('requests');
    for (let left = 1; left > 0;) left = (await db.leases.nextExpiry()) ?? 0;
    await lock.free();
    expect(await commit).toEqual({ ok: false });
    expect(await db.journal.look({ taskId: task.taskId })).toMatchObject({ version: 1 });
  });

  test('that goes away within a few lock timeouts delays a commit and fails none', async () => {
    const db = await bench.replica({ ttlMs: 300 });
    const task = workingTask();
    await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(task));
    const commit = db.journal.commit(writeOf(task));
    const first = await bench.untilBlocked('requests');
    for (let again = first; again === first;) again = await bench.untilBlocked('requests');
    await lock.free();
    expect(await commit).toEqual({ ok: true, version: 2 });
  });

  test('keeps every connection for requests busy, and what wakes streams is read all the same', async () => {
    const db = await bench.replica({ poolSize: 1 });
    const task = workingTask();
    await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(task));
    const commit = db.journal.commit(writeOf(task));
    const blocked = await bench.untilBlocked('requests');
    expect(await db.log.readHeads([task.taskId])).toMatchObject([{ taskId: task.taskId, version: 1 }]);
    // Not between two attempts of the commit: the same one waits still.
    expect(await bench.untilBlocked('requests')).toBe(blocked);
    await lock.free();
    expect(await commit).toEqual({ ok: true, version: 2 });
  });

  test("for good is a fault that names the server's code, and nothing is stored", async () => {
    const db = await bench.replica({ ttlMs: 150 });
    const task = workingTask();
    await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(task));
    await expect(db.journal.commit(writeOf(task))).rejects.toMatchObject({
      code: 'STORE_FAULT',
      details: { statement: 'commit', serverCode: '55P03' },
    });
    await lock.free();
    expect(await db.journal.look({ taskId: task.taskId })).toMatchObject({ version: 1 });
  });
});

describe('a terminated backend', () => {
  test('makes the outcome of a write in flight unknown, and the next statement has a new connection', async () => {
    const db = await bench.replica();
    const task = workingTask();
    await db.journal.createTask(task);
    const lock = await bench.hold(lockTask(task));
    const commit = db.journal.commit(writeOf(task)).catch((error: unknown) => error);
    await bench.untilBlocked('requests');
    await bench.terminate('requests');
    expect(await commit).toMatchObject({ code: 'UNKNOWN_OUTCOME', details: { statement: 'commit' } });
    await lock.free();
    expect(await db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
  });

  test('makes the outcome of saving a push config unknown', async () => {
    const db = await bench.replica();
    const row = {
      taskId: 't',
      configId: 'c',
      scope: { tenant: '', owner: 'a' },
      payload: '{}',
      wireVersion: '1.0',
      origin: 'https://a',
    };
    await db.pushConfigs.save(row);
    const lock = await bench.hold('SELECT 1 FROM push_notification_configs FOR UPDATE');
    const save = db.pushConfigs.save(row).catch((error: unknown) => error);
    await bench.untilBlocked('requests');
    await bench.terminate('requests');
    expect(await save).toMatchObject({ code: 'UNKNOWN_OUTCOME', details: { serverCode: '57P01' } });
    await lock.free();
    expect(await db.pushConfigs.save(row)).toBe('saved');
  });

  test('of idle connections is noticed by nobody', async () => {
    const db = await bench.replica();
    await Promise.all([
      db.ping(),
      db.ping(),
      db.leases.readClock(),
      db.tasks.list({ scope: null, limit: 1 }),
    ]);
    expect((await bench.terminate('requests')) + (await bench.terminate('leases'))).toBeGreaterThanOrEqual(2);
    // The pool hears of it by itself; until then a read may meet the dead connection once.
    const again = async (): Promise<void> => db.ping().catch(again);
    await again();
    await db.leases.readClock().catch(() => db.leases.readClock());
    expect(await db.tasks.list({ scope: null, limit: 1 })).toEqual({ rows: [], total: 0 });
  });
});

describe('a server that', () => {
  test('became read-only is left, and that is said once: statements go on over new connections', async () => {
    const lines: string[] = [];
    const logger = {
      ...createSilentLogger(),
      warn: (_fields: object, text: string) => void lines.push(text),
    };
    const db = await bench.replica({ logger });
    const task = workingTask();
    await db.journal.createTask(task);
    const name = new URL(bench.server.url).pathname.slice(1);
    await bench.raw.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await bench.terminate('requests');
    const readOnly = { code: 'STORE_FAULT', details: { serverCode: '25006' } };
    const write = (): Promise<unknown> => db.journal.commit(writeOf(task)).catch((error: unknown) => error);
    let answer = await write();
    // The first may still meet a dead connection.
    if ((answer as { code?: string }).code === 'UNKNOWN_OUTCOME') answer = await write();
    expect(answer).toMatchObject(readOnly);
    expect(await write()).toMatchObject(readOnly);
    expect(lines.filter((line) => line.includes('read-only'))).toHaveLength(1);
    await bench.raw.run(
      `SET default_transaction_read_only = off; ALTER DATABASE ${name} RESET default_transaction_read_only`,
    );
    expect(await write()).toEqual({ ok: true, version: 2 });
  });

  test('does not answer is unreachable, without its password in the message', async () => {
    const url = 'postgresql://bob:s3cret@127.0.0.1:1/none';
    const db = await createPostgresDatabase({ url, ttlMs: 15_000 });
    for (const attempt of [db.journal.createTask(workingTask()), db.ping(), db.check({ maxEventBytes: 1 })]) {
      const error = await attempt.catch((fault: Error) => fault);
      expect(error).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('s3cret');
    }
    const list = db.tasks.list({ scope: null, limit: 1 });
    await expect(list).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await db.close();
  });

  test.each(['postgresql://bob:s3cret@[host/none', 'postgresql://bob:s3cret@host/none?schema=a%22b'])(
    'cannot be named by the URL is told without its password: %s',
    async (url) => {
      const error = await createPostgresDatabase({ url, ttlMs: 1 }).catch((fault: Error) => fault);
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(String(error)).not.toContain('s3cret');
    },
  );
});

describe('a network that falls silent', () => {
  test('makes a write unknown and a read unreachable within the time limits, and close ends all the same', async () => {
    const proxy = await createFrozenProxy(bench.server.url);
    const db = await bench.replica({
      ...{ url: proxy.url, ttlMs: 1_500, statementTimeoutMs: 500, connectTimeoutMs: 500 },
    });
    const task = workingTask();
    await db.journal.createTask(task);
    await db.leases.readClock();
    proxy.freeze();
    const lease = { taskId: task.taskId, epoch: 1 };
    const [commit, beat] = await Promise.all(
      [
        db.journal.commit(writeOf(task)),
        db.leases.beat({ holder: task.holder, ttlMs: 1_500, leases: [lease] }),
      ].map((write) => write.catch((error: unknown) => error)),
    );
    expect([commit, beat]).toMatchObject([{ code: 'UNKNOWN_OUTCOME' }, { code: 'UNKNOWN_OUTCOME' }]);
    await expect(db.log.readTask(task)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    const hanging = db.ping().catch((error: unknown) => error);
    await db.close();
    expect(await hanging).toMatchObject({ code: expect.stringMatching(/UNREACHABLE|CLOSED/) });
    await proxy.close();
  });
});

describe('a pooler that refuses session settings', () => {
  test('is used without them; the start check refuses what the role does not set, and then warns no more', async () => {
    const pooler = await createFrozenProxy(bench.server.url, { refuseOptions: true });
    const name = new URL(bench.server.url).pathname.slice(1);
    const set = (setting: string): Promise<void> => bench.raw.run(`ALTER DATABASE ${name} SET ${setting}`);
    const check = async (): Promise<unknown> => {
      const db = await bench.replica({ url: pooler.url });
      await Promise.all([db.ping(), db.ping()]);
      return db.check({ maxEventBytes: 1 }).catch((error: unknown) => error);
    };
    await set(`timezone = 'Asia/Tokyo'`);
    expect(await check()).toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(/Tokyo/),
    });
    await set(`timezone = 'UTC'`);
    await set(`default_transaction_isolation = 'repeatable read'`);
    expect(await check()).toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(/repeatable/),
    });
    await set(`default_transaction_isolation = 'read committed'`);
    const names = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'];
    expect(await check()).toEqual({
      warnings: [expect.stringContaining('no limit on the server for lock_timeout')],
    });
    for (const limit of names) await set(`${limit} = '5s'`);
    expect(await check()).toEqual({ warnings: [] });
    await pooler.close();
  });
});

describe('close', () => {
  test('ends all connections, hanging statements included, and can be called again', async () => {
    const db = await bench.replica();
    const task = workingTask();
    await db.journal.createTask(task);
    await bench.hold(lockTask(task));
    const hanging = db.journal.commit(writeOf(task)).catch((error: unknown) => error);
    await bench.untilBlocked('requests');
    await Promise.all([db.close(), db.close()]);
    expect(await hanging).toMatchObject({ code: 'UNKNOWN_OUTCOME' });
    await expect(db.ping()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(db.leases.readClock()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(db.tasks.list({ scope: null, limit: 1 })).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('a schema of its own', () => {
  test('keeps two clusters in one database apart', async () => {
    const { server, raw } = bench;
    const url = new URL(server.url);
    url.searchParams.set('schema', String.raw`Other o\ne`);
    await raw.run(String.raw`CREATE SCHEMA "Other o\ne"; SET search_path = "Other o\ne";
      CREATE TABLE tasks (LIKE public.tasks INCLUDING ALL); CREATE TABLE task_events (LIKE public.task_events INCLUDING ALL);
      CREATE TABLE task_leases (LIKE public.task_leases INCLUDING ALL);
      CREATE TABLE task_snapshots (LIKE public.task_snapshots INCLUDING ALL);
      CREATE TABLE push_notification_configs (LIKE public.push_notification_configs INCLUDING ALL);
      CREATE TABLE _prisma_migrations AS SELECT * FROM public._prisma_migrations`);
    const [here, there] = [await bench.replica(), await bench.replica({ url: url.toString() })];
    expect(await there.check({ maxEventBytes: 1 })).toEqual({ warnings: [] });
    const task = workingTask();
    await there.journal.createTask(task);
    const row = {
      taskId: 't',
      configId: 'c',
      scope: task.scope,
      payload: '{"url":"u"}',
      wireVersion: '1.0',
      origin: 'https://a',
    };
    await there.pushConfigs.save(row);
    expect(await there.tasks.list({ scope: null, limit: 9 })).toMatchObject({ total: 1 });
    expect(await there.tasks.readTasks([task.taskId])).toHaveLength(1);
    expect(await there.pushConfigs.load(row)).toEqual([row]);
    expect(await here.tasks.list({ scope: null, limit: 9 })).toEqual({ rows: [], total: 0 });
    expect(await here.tasks.readTasks([task.taskId])).toEqual([]);
    expect(await here.log.readTask({ taskId: task.taskId })).toBeNull();
    expect(await here.pushConfigs.load(row)).toEqual([]);
  });
});

describe('the start check', () => {
  const checked = async (options: { url: string }): Promise<unknown> => {
    const db = await createPostgresDatabase({ ttlMs: 15_000, ...options });
    const answer = await db.check({ maxEventBytes: 1 }).catch((error: unknown) => error);
    await db.close();
    return answer;
  };

  test('takes a migrated database without a warning', async () => {
    expect(await checked(bench.server)).toEqual({ warnings: [] });
  });

  test('refuses an empty database and one that is behind, and says how to deploy', async () => {
    for (const options of [{ migrated: false }, { upTo: 3 }]) {
      const server = await createTestDatabase({ provider: 'postgresql', ...options });
      const answer = await checked(server);
      await server.drop();
      expect(answer).toMatchObject({ code: 'SCHEMA_BEHIND' });
      expect(String(answer)).toContain('migrate deploy');
    }
  });

  test('refuses a schema that is not there', async () => {
    expect(await checked({ url: `${bench.server.url}?schema=nowhere` })).toMatchObject({
      code: 'SCHEMA_BEHIND',
    });
  });

  test("refuses another application's ledger, and its tables without one", async () => {
    await bench.raw.run(`UPDATE _prisma_migrations SET migration_name = '2020_theirs' || id`);
    expect(await checked(bench.server)).toMatchObject({ code: 'SCHEMA_FOREIGN' });
    await bench.raw.run('DROP TABLE _prisma_migrations');
    const answer = await checked(bench.server);
    expect(answer).toMatchObject({ code: 'SCHEMA_FOREIGN' });
    expect(String(answer)).toContain('?schema=');
  });

  test('lets old replicas go on beside a newer schema, with a warning', async () => {
    await bench.raw.run(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
      VALUES ('1', 'x', '29990101000000_later', now())`);
    expect(await checked(bench.server)).toEqual({ warnings: [expect.stringContaining('newer')] });
  });

  test('refuses a read-only database', async () => {
    const name = new URL(bench.server.url).pathname.slice(1);
    await bench.raw.run(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await checked(bench.server)).toMatchObject({ code: 'DATABASE_UNSUITABLE' });
  });

  test("overrides a role's own time zone and isolation level", async () => {
    const name = new URL(bench.server.url).pathname.slice(1);
    await bench.raw.run(`ALTER DATABASE ${name} SET timezone = 'Asia/Tokyo';
      ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
    expect(await checked(bench.server)).toEqual({ warnings: [] });
  });
});
