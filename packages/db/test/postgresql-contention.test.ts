import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRaw } from '@a2a-cluster/testing';
import {
  cancelAlways,
  Contention,
  execute,
  pause,
  sweepAlways,
  sweepOnce,
  TTL_MS,
} from './support/contention.js';
import { violations } from './support/invariants.js';
import { PostgresBench } from './support/postgresql.js';

let bench: PostgresBench;
beforeAll(async () => void (bench = await PostgresBench.open()));
afterAll(() => bench.close());

/** Somebody at a console: locks a task or a lease for a while. */
async function lockAlways(run: Contention): Promise<void> {
  const raw = await openRaw(bench.server.url);
  while (run.running) {
    const [table, key] = Math.random() < 0.5 ? ['tasks', 'id'] : ['task_leases', 'task_id'];
    const slot = run.slots[Math.floor(Math.random() * run.slots.length)] ?? '';
    await raw.run(`BEGIN; SELECT 1 FROM ${table} WHERE ${key} = '${slot}' FOR UPDATE`);
    await pause(60);
    await raw.run('COMMIT');
    await pause(60);
  }
  await raw.close();
}

test('the invariants hold while turns, zombies, sweepers, cancels and foreign locks fight over a few tasks', async () => {
  const replicas = [await bench.replica({ poolSize: 4 }), await bench.replica({ poolSize: 4 })] as const;
  const run = new Contention({ slots: 4, runMs: 10_000 });
  const executors = [0, 1, 2, 3, 4, 5].map((n) => execute(run, replicas[n % 2 ? 1 : 0], `replica-${n}`));
  const sweepers = replicas.map((db, n) => sweepAlways(run, db, `sweeper-${n}`));
  await Promise.all([...executors, ...sweepers, cancelAlways(run, replicas[0]), lockAlways(run)]);
  // Whoever still runs has stopped beating: what is left is the sweepers'.
  for (let seen = 1; seen > 0 || (await replicas[0].leases.nextExpiry()) !== null;) {
    await pause(TTL_MS);
    seen = await sweepOnce(run, replicas[1], 'sweeper-last');
  }
  expect(await violations(run, bench.raw)).toEqual([]);
  const [stats] = await bench.raw.query(
    `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`,
  );
  expect(Number(stats?.['deadlocks'])).toBe(0);
  // It must have been a fight.
  const { commits, turns, fenced, cancels } = run.counts;
  for (const count of [commits, turns, fenced, cancels, run.swept.length]) expect(count).toBeGreaterThan(10);
}, 60_000);
