import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSystemClock, type Logger } from '@a2a-cluster/core';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { createConnections, type Connections } from '../src/postgresql/connections.js';
import type { Statement } from '../src/postgresql/statement.js';
import { createPrepared } from '../src/postgresql/prepared.js';

let database: TestDatabase;
let connections: Connections;
let warnings: string[];

const read = (text: string): Statement => ({ name: 'probe', writes: false, text });
const value = read('SELECT $1::int AS value');
const names = read('SELECT name FROM pg_prepared_statements ORDER BY prepare_time');

beforeEach(async () => {
  database = await createTestDatabase({ provider: 'postgresql' });
  warnings = [];
  const ignore = (): void => {};
  const logger: Logger = {
    ...{ debug: ignore, info: ignore, error: ignore },
    warn: (_fields, text) => void warnings.push(text),
  };
  connections = createConnections({
    config: { connectionString: database.url, max: 1 },
    clock: createSystemClock(),
    logger,
    prepared: createPrepared({ logger }),
  });
});
afterEach(async () => {
  await connections.close(1_000);
  await database.drop();
});

const valueOf = async (wanted: number): Promise<unknown> =>
  (await connections.run<{ value: number }>(value, [wanted]))[0]?.value;

describe('prepared statements', () => {
  test('are prepared once per connection, under a name of their text', async () => {
    await valueOf(1);
    await valueOf(2);
    await connections.run(read('SELECT 1 AS one'), []);
    const rows = await connections.run<{ name: string }>(names, []);
    const found = rows.map((row) => row.name);
    // The last is the question itself.
    expect(found).toHaveLength(3);
    expect(new Set(found).size).toBe(3);
    for (const name of found) expect(name).toMatch(/^probe_[0-9a-f]{12}$/);
  });

  test('that the server has forgotten are sent again without a name, and from then on all are', async () => {
    await valueOf(1);
    await connections.pool.query('DEALLOCATE ALL');
    expect(await valueOf(2)).toBe(2);
    expect(await valueOf(3)).toBe(3);
    expect(await connections.run(names, [])).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/prepared statements get lost/)]);
  });

  test('that somebody else has prepared on this connection are sent without a name', async () => {
    await valueOf(1);
    const [first] = await connections.run<{ name: string }>(names, []);
    const others = createConnections({
      config: { connectionString: database.url, max: 1 },
      clock: createSystemClock(),
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      prepared: createPrepared({
        logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      }),
    });
    try {
      await others.pool.query(`PREPARE "${first?.name}" AS SELECT 99 AS value, $1::int`);
      expect((await others.run<{ value: number }>(value, [5]))[0]?.value).toBe(5);
    } finally {
      await others.close(1_000);
    }
  });

  test('go on after a table was altered under them', async () => {
    const all = read('SELECT * FROM task_leases');
    for (let time = 0; time < 6; time += 1) await connections.run(all, []);
    await connections.pool.query('ALTER TABLE task_leases ADD COLUMN extra integer');
    expect(await connections.run(all, [])).toEqual([]);
    expect(warnings).toEqual([]);
    await valueOf(1);
    expect(await connections.run(names, [])).not.toEqual([]);
  });

  test('leave other errors alone', async () => {
    await expect(connections.run(read('SELECT no_such_column'), [])).rejects.toMatchObject({
      code: 'STORE_FAULT',
    });
    expect(warnings).toEqual([]);
  });
});
