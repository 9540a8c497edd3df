import { afterEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { LONG_TTL_MS, event, newTask, writeOf, type MadeTask } from '../src/contract/context.js';
import type { DatabaseOptions } from '../src/database-options.js';
import { createDatabase } from '../src/create-database.js';
import type { Database } from '../src/database.js';
import { createSqliteDatabase } from '../src/sqlite/database.js';
import { fileOfUrl } from '../src/sqlite/target.js';
import { startChild } from './sqlite-child/run-child.js';

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function makeFile(options: { migrated?: boolean; upTo?: number } = {}): Promise<TestDatabase> {
  const file = await createTestDatabase({ provider: 'sqlite', ...options });
  cleanups.push(() => file.drop());
  return file;
}

async function open(url: string, more: Partial<DatabaseOptions> = {}): Promise<Database> {
  const db = await createSqliteDatabase({ url, ttlMs: 15_000, ...more });
  cleanups.push(() => db.close());
  return db;
}

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'a2a-sqlite-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function change(url: string, sql: string): Promise<void> {
  const raw = await openRaw(url);
  await raw.run(sql);
  await raw.close();
}

async function makeTask(db: Database): Promise<MadeTask> {
  const create = newTask();
  await db.journal.createTask(create);
  return { ...create, epoch: 1, version: 1 };
}

const check = async (url: string, more: Partial<DatabaseOptions> = {}) =>
  (await open(url, more)).check({ maxEventBytes: 1_048_576 });

describe('the start check of SQLite', () => {
  test('finds nothing to say of a migrated file, which is then in WAL mode', async () => {
    const { url } = await makeFile();
    expect(await check(url)).toEqual({ warnings: [] });
    const raw = await openRaw(url);
    expect(await raw.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    await raw.close();
  });

  test('warns of NORMAL, which may lose acknowledged events', async () => {
    const { url } = await makeFile();
    const { warnings } = await check(url, { sqliteSynchronous: 'NORMAL' });
    expect(warnings).toEqual([expect.stringMatching(/NORMAL.*power loss/)]);
  });

  test('names the directory that is missing', async () => {
    const folder = path.join(await makeFolder(), 'none');
    const refused = check(`file:${folder}/cluster.db`);
    await expect(refused).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringContaining(`the directory ${folder} of the database file does not exist`),
    });
  });

  test('names the file that is missing, says how to make it and does not make it itself', async () => {
    const folder = await makeFolder();
    const url = `file:${folder}/cluster.db`;
    for (let n = 0; n < 2; n++) {
      await expect(check(url)).rejects.toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        message: expect.stringMatching(/no database file .*cluster\.db.*migrate deploy/),
      });
    }
    await expect((await open(url)).ping()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  });

  test('refuses a directory, and a path through a file', async () => {
    const folder = await makeFolder();
    await mkdir(path.join(folder, 'cluster.db'));
    await writeFile(path.join(folder, 'plain'), '');
    const unsuitable = { code: 'DATABASE_UNSUITABLE' };
    await expect(check(`file:${folder}/cluster.db`)).rejects.toMatchObject({
      ...unsuitable,
      message: expect.stringContaining('is not a file'),
    });
    await expect(check(`file:${folder}/plain/cluster.db`)).rejects.toMatchObject({
      ...unsuitable,
      message: expect.stringContaining('is not a directory'),
    });
  });

  test('refuses a file that is not a database', async () => {
    const folder = await makeFolder();
    await writeFile(path.join(folder, 'cluster.db'), 'x'.repeat(8_192));
    await expect(check(`file:${folder}/cluster.db`)).rejects.toMatchObject({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringContaining('is not an SQLite database'),
    });
  });

  test.each([
    ['file', 0o444, 0o755],
    ['directory', 0o666, 0o555],
  ])('refuses a %s that this user cannot write', async (what, fileMode, folderMode) => {
    const { url } = await makeFile();
    const folder = path.dirname(fileOfUrl(url));
    await chmod(fileOfUrl(url), fileMode);
    await chmod(folder, folderMode);
    // Nothing is forbidden to root: another user looks in its place.
    const uid = process.getuid?.() === 0 ? 65_534 : null;
    const answer = await startChild('check', { url, uid }).answer;
    await chmod(folder, 0o755);
    expect(answer).toEqual({
      code: 'DATABASE_UNSUITABLE',
      message: expect.stringMatching(new RegExp(`the (database )?${what} .* by this user`)),
    });
  });

  test('refuses a file whose migrations are missing, some or all', async () => {
    const behind = { code: 'SCHEMA_BEHIND' };
    await expect(check((await makeFile({ upTo: 2 })).url)).rejects.toMatchObject(behind);
    const empty = await makeFile({ migrated: false });
    await change(empty.url, 'CREATE TABLE t (a); DROP TABLE t;');
    await expect(check(empty.url)).rejects.toMatchObject(behind);
  });

  test("refuses another application's file", async () => {
    const foreign = { code: 'SCHEMA_FOREIGN' };
    const plain = await makeFile({ migrated: false });
    await change(plain.url, 'CREATE TABLE tasks (id TEXT)');
    await expect(check(plain.url)).rejects.toMatchObject(foreign);
    const prisma = await makeFile();
    await change(prisma.url, `UPDATE _prisma_migrations SET migration_name = 'theirs_' || migration_name`);
    await expect(check(prisma.url)).rejects.toMatchObject(foreign);
  });

  test('goes on, with a warning, where a newer version has migrated', async () => {
    const { url } = await makeFile();
    await change(
      url,
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
       VALUES ('n', 'c', 1, '29990101000000_later', 1)`,
    );
    expect((await check(url)).warnings).toEqual([expect.stringContaining('29990101000000_later')]);
  });
});

describe('a SQLite URL', () => {
  test('means the same file however it is written, relative to the working directory', async () => {
    const { url } = await makeFile();
    const file = fileOfUrl(url);
    const relative = `file:${path.relative(process.cwd(), file)}`;
    expect([fileOfUrl(relative), fileOfUrl(`file://${file}`), fileOfUrl(`${url}?a=b`)]).toEqual([
      file,
      file,
      file,
    ]);
    const [one, other] = [await open(relative), await createDatabase({ url, ttlMs: 15_000 })];
    cleanups.push(() => other.close());
    const { taskId } = await makeTask(one);
    expect(await other.journal.look({ taskId })).toMatchObject({ version: 1 });
  });

  test.each(['file:', 'file::memory:', 'file:x?mode=memory'])(
    '%s names no file and is refused',
    async (url) => {
      await expect(createDatabase({ url, ttlMs: 15_000 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    },
  );
});

describe('the hint counter of SQLite', () => {
  test('changes with the commits of others and not with own ones', async () => {
    const { url } = await makeFile();
    const [one, other] = [await open(url), await open(url)];
    if (one.hints.kind !== 'counter') throw new Error(one.hints.kind);
    const task = await makeTask(one);
    const first = one.hints.read();
    await one.journal.commit(writeOf(task));
    await one.leases.beat({ holder: task.holder, ttlMs: 15_000, leases: [task] });
    expect(one.hints.read()).toBe(first);
    await other.journal.look(task);
    expect(one.hints.read()).toBe(first);
    await other.journal.commit(writeOf({ ...task, version: 2 }));
    expect(one.hints.read()).not.toBe(first);
  });
});

describe('a SQLite database that is closed', () => {
  test('refuses every call as closed, any number of times', async () => {
    const { url } = await makeFile();
    const db = await open(url);
    const task = await makeTask(db);
    await Promise.all([db.close(), db.close()]);
    await db.close();
    const closed = { code: 'CLOSED' };
    await expect(db.journal.commit(writeOf(task))).rejects.toMatchObject(closed);
    await expect(db.leases.readClock()).rejects.toMatchObject(closed);
    await expect(db.ping()).rejects.toMatchObject(closed);
  });

  test('leaves neither a -wal file nor a lock when it was the last', async () => {
    const { url } = await makeFile();
    const db = await createSqliteDatabase({ url, ttlMs: 15_000 });
    await makeTask(db);
    await db.tasks.list({ scope: null, limit: 1 });
    await db.close();
    const moved = `${fileOfUrl(url)}.moved`;
    await rename(fileOfUrl(url), moved);
    const again = await open(`file:${moved}`);
    expect(await again.tasks.list({ scope: null, limit: 10 })).toMatchObject({ total: 1 });
  });
});

describe('moments in SQLite', () => {
  test('are whole milliseconds, by our statements and by Prisma', async () => {
    const { url } = await makeFile();
    const db = await open(url);
    const task = await makeTask(db);
    const scope = task.scope;
    await db.leases.markCancel(task);
    await db.journal.commit(writeOf(task, { events: [event()] }));
    for (const configId of ['a', 'b']) {
      const config = {
        taskId: task.taskId,
        configId,
        scope,
        payload: '{}',
        wireVersion: '1.0',
        origin: 'https://a',
      };
      expect(await db.pushConfigs.save(config)).toBe('saved');
    }
    const raw = await openRaw(url);
    const moments = await raw.query(`
      SELECT created_at AS at FROM tasks UNION ALL SELECT updated_at FROM tasks
      UNION ALL SELECT created_at FROM task_events UNION ALL SELECT acquired_at FROM task_leases
      UNION ALL SELECT expires_at FROM task_leases UNION ALL SELECT cancel_requested_at FROM task_leases
      UNION ALL SELECT created_at FROM push_notification_configs`);
    const types = await raw.query(
      `SELECT DISTINCT typeof(created_at) AS type FROM push_notification_configs`,
    );
    await raw.close();
    expect(types).toEqual([{ type: 'integer' }]);
    expect(moments).toHaveLength(9);
    for (const { at } of moments) {
      expect(Number.isInteger(at)).toBe(true);
      expect(Math.abs(Number(at) - Date.now())).toBeLessThanOrEqual(LONG_TTL_MS + 60_000);
    }
  });
});
