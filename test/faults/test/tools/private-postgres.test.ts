import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from '@jest/globals';
import { hasTools, openRaw, type RawConnection } from '@a2a-cluster/testing';
import { isAlive } from '../../src/tools/processes.js';
import {
  missingPostgres,
  startPrivatePostgres,
  type PrivatePostgres,
} from '../../src/tools/private-postgres.js';

const runs = hasTools({ tests: 'a private PostgreSQL', missing: missingPostgres() });
const hasClock = runs && hasTools({ tests: 'its clock', missing: missingPostgres({ fakeClock: true }) });

let server: PrivatePostgres | undefined;
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
  return readdirSync(tmpdir()).filter((name) => name.startsWith('a2a-faults-postgres-'));
}

(runs ? describe : describe.skip)('a private PostgreSQL', () => {
  test('crashes and starts again with what was committed, and leaves nothing when removed', async () => {
    const before = folders();
    server = await startPrivatePostgres();
    const first = await connect(server.url());
    await first.run('CREATE TABLE kept AS SELECT 1 AS n');
    expect(() => server?.stepClock(1)).toThrow('fakeClock');
    const pid = server.pid();
    await server.stop('immediate');
    expect([isAlive(pid), server.pid()]).toEqual([false, 0]);
    await expect(first.query('SELECT 1')).rejects.toThrow();
    await expect(openRaw(server.url())).rejects.toThrow('ECONNREFUSED');
    await server.start();
    await server.start();
    const second = await connect(server.url());
    expect(await value(second, 'SELECT n FROM kept')).toBe(1);
    await server.set('ALTER SYSTEM SET default_transaction_read_only = on');
    const third = await connect(server.url());
    await expect(third.run('CREATE TABLE refused (n int)')).rejects.toThrow('read-only');
    const last = server.pid();
    await server.remove();
    await server.remove();
    expect([isAlive(last), folders().filter((name) => !before.includes(name))]).toEqual([false, []]);
  });

  test('that cannot start says why and leaves nothing', async () => {
    const before = folders();
    await expect(startPrivatePostgres({ settings: { no_such_setting: '1' } })).rejects.toThrow(
      'unrecognized configuration parameter "no_such_setting"',
    );
    expect(folders().filter((name) => !before.includes(name))).toEqual([]);
  });

  test('has a standby that follows, refuses writes, and takes them when promoted', async () => {
    server = await startPrivatePostgres();
    const primary = await connect(server.url());
    await primary.run('CREATE TABLE kept (n int)');
    const standby = await server.standby();
    await primary.run('INSERT INTO kept VALUES (7)');
    await standby.caughtUp();
    const there = await connect(standby.url());
    expect(await value(there, 'SELECT n FROM kept')).toBe(7);
    await expect(there.run('INSERT INTO kept VALUES (8)')).rejects.toThrow('read-only');
    await server.stop('immediate');
    await standby.promote();
    await there.run('INSERT INTO kept VALUES (8)');
    const pid = standby.pid();
    await server.remove();
    expect(isAlive(pid)).toBe(false);
  });
});

(hasClock ? describe : describe.skip)('its clock', () => {
  test('steps for open and new sessions, and limits of time are kept while it is ahead or behind', async () => {
    server = await startPrivatePostgres({ fakeClock: true });
    const session = await connect(server.url());
    const holder = await connect(server.url());
    await holder.run('CREATE TABLE held (n int)');
    await holder.run('BEGIN; LOCK TABLE held');
    const offByS = async (raw: RawConnection): Promise<number> => {
      const at = Number(await value(raw, 'extract(epoch FROM clock_timestamp())'));
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
      await session.run('SET statement_timeout = 200; SET lock_timeout = 0');
      const began = performance.now();
      await expect(session.query('SELECT pg_sleep(20)')).rejects.toThrow('statement timeout');
      await session.run('SET statement_timeout = 0; SET lock_timeout = 200');
      await expect(session.run('SELECT * FROM held')).rejects.toThrow('lock timeout');
      expect(performance.now() - began).toBeLessThan(5_000);
    }
    await server.restart('immediate');
    expect(await offByS(await connect(server.url()))).toBe(-3_600);
    expect(existsSync('/dev/shm') && readdirSync('/dev/shm').join()).not.toContain('faketime');
  });
});
