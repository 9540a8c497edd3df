import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { nowMs } from '../harness/time.js';

/** Tells another connection of rows, by the bare driver. */
export interface BareNotify {
  /** From the begin of the INSERT to the row in the other connection's hands, in milliseconds. */
  latencies(options: { readonly count: number; readonly paceMs: number }): Promise<number[]>;
  close(): Promise<void>;
}

/** Of the writer and the reader; more than one each, for when a statement is late. */
const POOL_SIZE = 4;
const TABLE = 'CREATE TABLE bare_events (seq int PRIMARY KEY, payload text NOT NULL)';
const WRITE = {
  name: 'write',
  text: `WITH written AS (INSERT INTO bare_events VALUES ($1, $2) RETURNING seq)
    SELECT pg_notify('bare', seq::text) FROM written`,
};
const READ = { name: 'read', text: 'SELECT payload FROM bare_events WHERE seq = $1' };
const PAYLOAD = 'lorem ipsum '.repeat(4);

/** The floor of every wake-up by PostgreSQL: INSERT with NOTIFY in one statement, LISTEN, SELECT of the row. */
export async function openBareNotify(connectionString: string): Promise<BareNotify> {
  const pool = new pg.Pool({ connectionString, max: POOL_SIZE });
  const listener = new pg.Client({ connectionString });
  pool.on('error', () => {});
  listener.on('error', () => {});
  await listener.connect();
  await pool.query(TABLE);
  await listener.query('LISTEN bare');
  const read = new Map<number, () => void>();
  listener.on('notification', ({ payload }) => {
    const seq = Number(payload);
    void pool.query({ ...READ, values: [seq] }).then(() => read.get(seq)?.());
  });
  let seq = 0;
  const one = async (): Promise<number> => {
    seq += 1;
    const own = seq;
    const arrived = new Promise<void>((resolve) => read.set(own, resolve));
    const began = nowMs();
    await pool.query({ ...WRITE, values: [own, PAYLOAD] });
    await arrived;
    read.delete(own);
    return nowMs() - began;
  };
  return {
    latencies: async ({ count, paceMs }) => {
      const all: Promise<number>[] = [];
      for (let index = 0; index < count; index += 1) {
        await pause(paceMs);
        all.push(one());
      }
      return Promise.all(all);
    },
    close: async () => void (await Promise.all([pool.end(), listener.end()])),
  };
}
