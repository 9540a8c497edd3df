import { existsSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock, isClusterError } from '@a2a-cluster/core';
import { completionOf, event, writeOf, type MadeTask } from '../../src/contract/context.js';
import { SqliteConnection, type SqliteLane } from '../../src/sqlite/connection.js';
import { createSqliteDatabase } from '../../src/sqlite/database.js';
import { fileOfUrl } from '../../src/sqlite/target.js';

const say = (line: string): void => void writeSync(1, `${line}\n`);
const forever = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);

function laneOf(url: string): SqliteLane {
  return new SqliteConnection({ file: fileOfUrl(url), synchronous: 'FULL' }, createSystemClock()).lane(5_000);
}

/** What a child process of the SQLite tests can be told to do. */
export const jobs = {
  /** Adds `times` events to a task, each by compare and swap on a version read a moment before; begins at `go`. */
  async increment({ url, task, times, go }: { url: string; task: MadeTask; times: number; go: string }) {
    const db = await createSqliteDatabase({ url, ttlMs: 15_000 });
    await db.ping();
    say('ready');
    while (!existsSync(go)) await sleep(1);
    let lost = 0;
    for (let done = 0; done < times;) {
      const version = (await db.journal.look({ taskId: task.taskId }))?.version ?? 0;
      await sleep(Math.random() * 3);
      const outcome = await db.journal.commit(writeOf({ ...task, version }));
      if (outcome.ok) done += 1;
      else lost += 1;
    }
    await db.close();
    return { lost };
  },

  /** Takes the write lock and keeps it, inside its one synchronous call, until there is a file `until`. */
  async hold({ url, until }: { url: string; until: string }) {
    const turn = new Int32Array(new SharedArrayBuffer(4));
    await laneOf(url).run({
      name: 'hold',
      writes: true,
      work: () => {
        say('held');
        while (!existsSync(until)) Atomics.wait(turn, 0, 0, 10);
      },
    });
    return {};
  },

  /** Stops for good between its writes and COMMIT. */
  async stopInside({ url, task }: { url: string; task: MadeTask }) {
    await laneOf(url).run({
      name: 'stopInside',
      writes: true,
      work: (session) => {
        session.run(
          'UPDATE tasks SET version = 99, state = ? WHERE id = ?',
          'TASK_STATE_FAILED',
          task.taskId,
        );
        session.run('DELETE FROM task_leases WHERE task_id = ?', task.taskId);
        say('inside');
        forever();
      },
    });
    return {};
  },

  /** Writes a large event under a limit on the size of files, then a small one. */
  async overflow({ url, task, bytes }: { url: string; task: MadeTask; bytes: number }) {
    const db = await createSqliteDatabase({ url, ttlMs: 15_000 });
    const events = [event('artifactUpdate', { payload: 'x'.repeat(bytes) })];
    const large = await db.journal
      .commit(writeOf(task, { events }))
      .catch((error: unknown) => (isClusterError(error) ? error.code : String(error)));
    const small = await db.journal.commit(completionOf(task));
    await db.close();
    return { large, small };
  },

  /** The start check, as whoever runs this process. */
  async check({ url, uid }: { url: string; uid: number | null }) {
    if (uid !== null) process.setuid?.(uid);
    const db = await createSqliteDatabase({ url, ttlMs: 15_000 });
    return db.check({ maxEventBytes: 1 }).then(
      () => ({ code: 'none', message: '' }),
      (error: unknown) =>
        isClusterError(error) ? { code: error.code, message: error.message } : { code: 'x' },
    );
  },
};
