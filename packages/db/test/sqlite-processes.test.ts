import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { followUp, newTask, writeOf, type MadeTask } from '../src/contract/context.js';
import type { Database } from '../src/database.js';
import { createSqliteDatabase } from '../src/sqlite/database.js';
import { fileOfUrl } from '../src/sqlite/target.js';
import { startChild, type Child } from './sqlite-child/run-child.js';

let file: TestDatabase;
let db: Database;
const children: Child[] = [];

beforeEach(async () => {
  file = await createTestDatabase({ provider: 'sqlite' });
  db = await createSqliteDatabase({ url: file.url, ttlMs: 60_000 });
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.answer.catch(() => {});
    if (child.process.exitCode === null && child.process.signalCode === null) {
      child.process.kill('SIGKILL');
      await once(child.process, 'close');
    }
  }
  await db.close();
  await file.drop();
});

function start(...parameters: Parameters<typeof startChild>): Child {
  const child = startChild(...parameters);
  children.push(child);
  return child;
}

/** A process that has the write lock and keeps it until it is told to let go. */
async function startHolder(): Promise<{ letGo(): Promise<void> }> {
  const until = `${fileOfUrl(file.url)}.let-go`;
  const child = start('hold', { url: file.url, until });
  await child.said('held');
  return { letGo: () => writeFile(until, '') };
}

async function makeTask(): Promise<MadeTask> {
  const create = newTask();
  await db.journal.createTask(create);
  const { taskId, scope, contextId, holder } = create;
  return { taskId, scope, contextId, holder, epoch: 1, version: 1 };
}

describe('several processes on one file', () => {
  test('that write the same task lose no write and meet no error', async () => {
    const task = await makeTask();
    const times = 150;
    const go = `${fileOfUrl(file.url)}.go`;
    const writers = [1, 2].map(() => start('increment', { url: file.url, task, times, go }));
    await Promise.all(writers.map((child) => child.said('ready')));
    await writeFile(go, '');
    const answers = await Promise.all(writers.map((child) => child.answer));

    const stored = await db.log.readTask({ taskId: task.taskId });
    expect(stored?.version).toBe(1 + 2 * times);
    expect(stored?.events.map((row) => row.seq)).toEqual(
      Array.from({ length: 1 + 2 * times }, (_, n) => n + 1),
    );
    // They met: otherwise this proves nothing.
    expect(answers.some((answer) => (answer as { lost: number }).lost > 0)).toBe(true);
  });

  test('leave the event loop of a process that waits for the write lock free', async () => {
    const task = await makeTask();
    // Loads Prisma's query compiler, which takes a while by itself.
    await db.tasks.list({ scope: null, limit: 1 });
    const holder = await startHolder();

    const commits = Array.from({ length: 20 }, () => db.journal.commit(writeOf(task)));
    const beat = db.leases.beat({ holder: task.holder, ttlMs: 15_000, leases: [task] });
    const config = {
      taskId: 'x',
      configId: 'c',
      scope: task.scope,
      payload: '{}',
      wireVersion: '1.0',
      origin: 'https://a',
    };
    const saved = db.pushConfigs.save(config);
    // Were the wait inside the driver, the lock would be let go only after they had all given up.
    const gaps: number[] = [];
    for (let last = performance.now(); gaps.length < 40; last = performance.now()) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      gaps.push(performance.now() - last);
    }
    expect(await db.journal.look({ taskId: task.taskId })).toMatchObject({ version: 1 });
    await db.ping();
    await holder.letGo();

    expect((await Promise.all(commits)).filter((outcome) => outcome.ok)).toHaveLength(1);
    expect(await beat).toHaveLength(1);
    expect(await saved).toBe('saved');
    // Of the shorter ones, since a busy machine makes long ones by itself.
    expect(gaps.sort((a, b) => a - b)[10]).toBeLessThan(50);
  });

  test('read while one of them holds the write lock', async () => {
    const { taskId } = await makeTask();
    await startHolder();
    expect(await db.journal.look({ taskId })).toMatchObject({ version: 1 });
    expect(await db.tasks.list({ scope: null, limit: 5 })).toMatchObject({ total: 1 });
  });

  test('go on when one of them is killed inside a write, of which nothing stays', async () => {
    const task = await makeTask();
    const victim = start('stopInside', { url: file.url, task });
    await victim.said('inside');
    const waiting = db.journal.commit(writeOf(task));
    victim.process.kill('SIGKILL');
    expect(await waiting).toEqual({ ok: true, version: 2 });
    const stored = await db.log.readTask({ taskId: task.taskId });
    expect(stored).toMatchObject({ version: 2, state: 'TASK_STATE_WORKING', lease: { epoch: 1 } });
    const raw = await openRaw(file.url);
    expect(await raw.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    await raw.close();
  });

  test('give up after the time limit with a fault that says nothing was stored', async () => {
    const task = await makeTask();
    const impatient = await createSqliteDatabase({ url: file.url, ttlMs: 15_000, statementTimeoutMs: 150 });
    await startHolder();
    const busy = { name: 'ClusterError', code: 'STORE_FAULT' };
    await expect(impatient.journal.commit(writeOf(task))).rejects.toMatchObject(busy);
    await expect(impatient.journal.openTurn(followUp(task))).rejects.toMatchObject(busy);
    const config = {
      taskId: 'x',
      configId: 'c',
      scope: task.scope,
      payload: '{}',
      wireVersion: '1.0',
      origin: 'https://a',
    };
    await expect(impatient.pushConfigs.save(config)).rejects.toMatchObject(busy);
    const { holder: name, taskId } = task;
    const lease = { taskId, epoch: 1 };
    expect(await impatient.leases.beatOne({ holder: name, ttlMs: 15_000, lease, waitMs: 50 })).toBeNull();
    expect(await impatient.journal.look({ taskId })).toMatchObject({ version: 1 });
    await impatient.close();
  });
});

describe('a write that fails while it is being committed', () => {
  test('has an unknown outcome, and the next one finds the file sound', async () => {
    const task = await makeTask();
    const child = start('overflow', { url: file.url, task, bytes: 4_000_000 }, { limitKiB: 2_000 });
    expect(await child.answer).toEqual({ large: 'UNKNOWN_OUTCOME', small: { ok: true, version: 2 } });
    const stored = await db.log.readTask({ taskId: task.taskId });
    expect(stored).toMatchObject({ version: 2, state: 'TASK_STATE_COMPLETED', lease: null });
  });
});
