import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Database, HintListener } from '../src/database.js';
import { decodeHint, encodeHints } from '../src/postgresql/hint-payload.js';
import { channelOf } from '../src/postgresql/hints.js';
import { createFrozenProxy } from './support/frozen-proxy.js';
import { PostgresBench } from './support/postgresql.js';

let bench: PostgresBench;
const listeners: HintListener[] = [];

/** A listener whose hints and loss can be awaited. */
async function listen(db: Database) {
  if (db.hints.kind !== 'listen') throw new Error('no LISTEN');
  const heard: string[] = [];
  const losses: unknown[] = [];
  let wake = (): void => {};
  const listener = await db.hints.listen({
    onHint: (taskIds) => void (heard.push(...taskIds), wake()),
    onLost: (cause) => void (losses.push(cause), wake()),
  });
  listeners.push(listener);
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { listener, heard, losses, until, notify: db.hints.notify.bind(db.hints) };
}

describe('hints between replicas', () => {
  beforeEach(async () => void (bench = await PostgresBench.open()));
  afterEach(async () => {
    await Promise.all(listeners.splice(0).map((listener) => listener.close()));
    await bench.close();
  });

  test('carry every task id to every listener, however many and whatever is in them', async () => {
    const [one, two] = [await listen(await bench.replica()), await listen(await bench.replica())];
    const ids = Array.from({ length: 300 }, (_, n) => `task "${n}"\n,\\${'é'.repeat(60)}`);
    await one.notify(ids);
    for (const ear of [one, two]) {
      await ear.until(() => ear.heard.length >= ids.length);
      expect(ear.heard.toSorted()).toEqual(ids.toSorted());
    }
  });

  test('of another schema, and what others send on the channel, wake nobody', async () => {
    const ear = await listen(await bench.replica());
    await bench.raw.run('CREATE SCHEMA other');
    const other = await listen(await bench.replica({ url: `${bench.server.url}?schema=other` }));
    await other.notify(['theirs']);
    for (const payload of ['', 'nonsense', '{}', '7', '{"selfTest":"not mine"}', '[1,null]'])
      await bench.raw.query('SELECT pg_notify($1, $2)', [channelOf('public'), payload]);
    await ear.notify(['mine']);
    await ear.until(() => ear.heard.length > 0);
    expect(ear.heard).toEqual(['mine']);
  });

  test('are told to be lost, once, when the listening backend ends; a new listener hears again', async () => {
    const db = await bench.replica();
    const ear = await listen(db);
    await bench.terminate('hints');
    await ear.until(() => ear.losses.length > 0);
    const again = await listen(db);
    await again.notify(['after']);
    await again.until(() => again.heard.length > 0);
    expect(ear.losses).toHaveLength(1);
    expect(ear.heard).toEqual([]);
  });

  test('are not told to be lost when the listener is closed', async () => {
    const db = await bench.replica();
    const ear = await listen(db);
    await ear.listener.close();
    await ear.listener.close();
    const rows = await bench.raw
      .query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'a2a-cluster hints'
      AND datname = current_database()`);
    expect([rows, ear.losses]).toEqual([[], []]);
  });

  test('are told to be lost when the connection falls silent', async () => {
    const proxy = await createFrozenProxy(bench.server.url);
    const ear = await listen(await bench.replica({ url: proxy.url, ttlMs: 1_500 }));
    proxy.freeze();
    await ear.until(() => ear.losses.length > 0);
    expect(ear.losses).toHaveLength(1);
    await proxy.close();
  });

  test('cannot be had from a server that is read-only', async () => {
    const url = `${bench.server.url}?options=-c%20default_transaction_read_only%3Don`;
    await expect(listen(await bench.replica({ url }))).rejects.toMatchObject({ code: 'DATABASE_UNSUITABLE' });
  });

  test('cannot be had where the database is away', async () => {
    const db = await bench.replica({ url: 'postgresql://127.0.0.1:1/none' });
    await expect(listen(db)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  });
});

describe('payloads of hints', () => {
  test('stay below what PostgreSQL takes and lose no id', () => {
    const ids = Array.from({ length: 1_000 }, (_, n) => `${n}-${'\u0001'.repeat(150)}`);
    const payloads = encodeHints([...ids, ...ids]);
    for (const payload of payloads) expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(7_900);
    expect(payloads.map(decodeHint).flatMap((hint) => (hint?.kind === 'hint' ? hint.taskIds : []))).toEqual(
      ids,
    );
    expect(encodeHints([])).toEqual([]);
  });

  test('have a channel per schema that fits into a name', () => {
    const long = ['a'.repeat(63), `${'a'.repeat(62)}b`].map(channelOf);
    expect(new Set([...long, channelOf('public')]).size).toBe(3);
    for (const channel of long) expect(Buffer.byteLength(channel)).toBeLessThanOrEqual(63);
  });
});
