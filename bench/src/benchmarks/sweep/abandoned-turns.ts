import { setTimeout as pause } from 'node:timers/promises';
import { openRaw, type RawConnection, type TestProvider } from '@a2a-cluster/testing';

/** Turns whose replica is gone, made behind the product's back: opening ten thousand takes longer than ending them. */
export interface AbandonedTurns {
  /** Empties the tables and fills them with `count` WORKING tasks whose leases have expired. */
  make(count: number): Promise<void>;
  /** Rejects unless each of them has one FAILED event, is FAILED, and no lease is left. */
  expectEnded(count: number): Promise<void>;
}

/** By two digits each, so that every database makes them from one list of ten. */
const DIGITS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((digit) => `SELECT ${digit} AS d`).join(' UNION ALL ');

/** How the databases say the same. */
const DIALECT: Readonly<
  Record<TestProvider, { readonly past: string; readonly concat: (number: string) => string }>
> = {
  postgresql: {
    past: `now() - interval '1 minute'`,
    concat: (number) => `'abandoned-' || lpad(${number}::text, 6, '0')`,
  },
  mysql: {
    past: 'SYSDATE(3) - INTERVAL 1 MINUTE',
    concat: (number) => `CONCAT('abandoned-', LPAD(${number}, 6, '0'))`,
  },
  sqlite: {
    past: `CAST(unixepoch('subsec') * 1000 AS INTEGER) - 60000`,
    concat: (number) => `'abandoned-' || printf('%06d', ${number})`,
  },
};

/** Makes and counts them on a database of its own. */
export async function openAbandonedTurns(
  provider: TestProvider,
  url: string,
): Promise<AbandonedTurns & { close(): Promise<void> }> {
  const raw = await openRaw(url);
  return {
    make: (count) => make(raw, { provider, count }),
    expectEnded: (count) => expectEnded(raw, count),
    close: () => raw.close(),
  };
}

async function make(
  raw: RawConnection,
  { provider, count }: { readonly provider: TestProvider; readonly count: number },
): Promise<void> {
  const { past, concat } = DIALECT[provider];
  // Rows that were deleted would otherwise be passed by all the scans of the next round.
  const empty = provider === 'sqlite' ? 'DELETE FROM' : 'TRUNCATE TABLE';
  const tables = ['tasks', 'task_leases', 'task_events', 'task_snapshots'];
  for (const table of tables) await raw.run(`${empty} ${table}`);
  const number = 'a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d';
  const numbers = ['a', 'b', 'c', 'e', 'f'].map((name) => `(${DIGITS}) ${name}`).join(' CROSS JOIN ');
  await raw.run(`INSERT INTO tasks (id, tenant, owner, context_id, state, status_timestamp, version)
    SELECT ${concat('n')}, '', 'bench', ${concat('n')}, 'TASK_STATE_WORKING', '2026-01-01T00:00:00.000Z', 1
      FROM (SELECT ${number} AS n FROM ${numbers}) numbers WHERE n < ${count}`);
  await raw.run(`INSERT INTO task_leases (task_id, tenant, owner, holder, epoch, acquired_at, expires_at)
    SELECT id, tenant, owner, 'replica-dead', 1, ${past}, ${past} FROM tasks`);
  await raw.run(`INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch)
    SELECT id, 1, 'task', '{}', id, 'replica-dead', 1 FROM tasks`);
  if (provider === 'postgresql') await raw.run('ANALYZE tasks; ANALYZE task_leases; ANALYZE task_events');
  // What was written in bulk is flushed by the server for a while.
  await pause(100);
}

async function expectEnded(raw: RawConnection, count: number): Promise<void> {
  const [found] = await raw.query(`SELECT
    (SELECT COUNT(*) FROM task_leases) AS leases,
    (SELECT COUNT(*) FROM tasks WHERE state = 'TASK_STATE_FAILED' AND version = 2) AS failed,
    (SELECT COUNT(*) FROM task_events WHERE seq > 1) AS events,
    (SELECT COUNT(*) FROM task_events WHERE seq = 2 AND payload LIKE '%TASK_STATE_FAILED%replica_lost%') AS told`);
  const of = (name: string): number => Number(found?.[name]);
  if (of('leases') === 0 && of('failed') === count && of('events') === count && of('told') === count) return;
  throw new Error(
    `${count} turns were abandoned: ${of('failed')} tasks failed, ${of('told')} of ${of('events')} events say so, ` +
      `${of('leases')} leases are left`,
  );
}
