import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { hasTools, openRaw, type RawConnection } from '@a2a-cluster/testing';
import { isAlive } from '../../src/tools/processes.js';
import { missingMariadb, startPrivateMariadb, type PrivateMariadb } from '../../src/tools/private-mariadb.js';

const runs = hasTools({ tests: 'a private MariaDB', missing: missingMariadb() });
const hasClock = runs && hasTools({ tests: 'its clock', missing: missingMariadb({ fakeClock: true }) });

let server: PrivateMariadb | undefined;
let open: RawConnection[] = [];

async function connect(url: string): Promise<RawConnection> {
  const raw = await openRaw(url);
  open.push(raw);
  return raw;
}

async function value(raw: RawConnection, sql: string): Promise<unknown> {
  const [row] = await raw.query(`SELECT (${sql}) AS value`);
  return row?.['value'];
}

afterEach(async () => {
  for (const raw of open) await raw.close().catch(() => {});
  open = [];
  await server?.remove();
  server = undefined;
});

function folders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('a2a-faults-mariadb-'));
}

(runs ? describe : describe.skip)('a private MariaDB', () => {
  test('crashes and starts again with what was committed, and leaves nothing when removed', async () => {
    const before = folders();
    server = await startPrivateMariadb();
    expect(() => server?.stepClock(1)).toThrow('fakeClock');
    const first = await connect(server.url());
    await first.run('CREATE DATABASE kept; CREATE TABLE kept.kept (n int); INSERT INTO kept.kept VALUES (1)');
    const pid = server.pid();
    await server.stop('immediate');
    expect([isAlive(pid), server.pid()]).toEqual([false, 0]);
    await expect(first.query('SELECT 1')).rejects.toThrow();
    await server.start();
    await server.start();
    const second = await connect(server.url('kept'));
    expect(await value(second, 'SELECT n FROM kept')).toBe(1);
    const last = server.pid();
    await server.remove();
    await server.remove();
    expect([isAlive(last), folders().filter((name) => !before.includes(name))]).toEqual([false, []]);
  });
});

(hasClock ? describe : describe.skip)('its clock', () => {
  test('steps for open and new sessions, and limits of time are kept while it is ahead or behind', async () => {
    server = await startPrivateMariadb({ fakeClock: true });
    const session = await connect(server.url());
    const holder = await connect(server.url());
    await holder.run(
      'CREATE DATABASE d; CREATE TABLE d.held (n int primary key); INSERT INTO d.held VALUES (1)',
    );
    await holder.run('BEGIN; SELECT * FROM d.held FOR UPDATE');
    const offByS = async (raw: RawConnection): Promise<number> => {
      const at = Number(await value(raw, 'UNIX_TIMESTAMP(SYSDATE(3))'));
      // No minus before nothing.
      return Math.round(at - Date.now() / 1_000) + 0;
    };
    expect(await offByS(session)).toBe(0);
    for (const [step, off] of [
      [3_600_000, 3_600],
      [-7_200_000, -3_600],
    ] as const) {
      server.stepClock(step);
      expect([await offByS(session), await offByS(await connect(server.url()))]).toEqual([off, off]);
      await session.run('SET max_statement_time = 0.2, innodb_lock_wait_timeout = 50');
      const began = performance.now();
      await expect(session.query('SELECT * FROM d.held FOR UPDATE')).rejects.toThrow('max_statement_time');
      await session.run('SET max_statement_time = 0, innodb_lock_wait_timeout = 1');
      await expect(session.query('SELECT * FROM d.held FOR UPDATE')).rejects.toThrow('Lock wait timeout');
      expect(performance.now() - began).toBeGreaterThan(1_000);
      expect(performance.now() - began).toBeLessThan(6_000);
    }
    await server.restart('immediate');
    expect(await offByS(await connect(server.url()))).toBe(-3_600);
    expect(existsSync('/dev/shm') && readdirSync('/dev/shm').join()).not.toContain('faketime');
  });
});
