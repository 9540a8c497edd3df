import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  availableProviders,
  createTestDatabase,
  hasTools,
  openRaw,
  type TestDatabase,
} from '@a2a-cluster/testing';
import { missingPgBouncer, startPgBouncer, type PgBouncer } from '../../src/tools/pgbouncer.js';
import { isAlive } from '../../src/tools/processes.js';

const runs =
  hasTools({ tests: 'PgBouncer', missing: missingPgBouncer() }) &&
  availableProviders().includes('postgresql');

(runs ? describe : describe.skip)('PgBouncer', () => {
  let database: TestDatabase;
  let pooler: PgBouncer | undefined;
  beforeEach(async () => {
    database = await createTestDatabase({ provider: 'postgresql', migrated: false });
  });
  afterEach(async () => {
    await pooler?.remove();
    await database.drop();
  });

  test('lends its one connection by the transaction, refuses start parameters, and ends', async () => {
    pooler = await startPgBouncer({ url: database.url, poolSize: 1 });
    const [first, second] = [await openRaw(pooler.url), await openRaw(pooler.url)];
    const backend = async (raw: typeof first): Promise<unknown> =>
      (await raw.query('SELECT pg_backend_pid() AS pid'))[0]?.['pid'];
    expect(await backend(first)).toBe(await backend(second));
    await first.close();
    await second.close();
    await expect(openRaw(`${pooler.url}?options=-c%20timezone%3DUTC`)).rejects.toThrow('options');
    const pid = pooler.pid();
    await pooler.stop();
    expect(isAlive(pid)).toBe(false);
    await pooler.start();
    await (await openRaw(pooler.url)).close();
    await pooler.remove();
    await pooler.remove();
    expect(pooler.pid()).toBe(0);
  });

  test('takes start parameters when told so', async () => {
    const settings = { ignore_startup_parameters: 'options,extra_float_digits' };
    pooler = await startPgBouncer({ url: database.url, settings });
    await (await openRaw(`${pooler.url}?options=-c%20timezone%3DUTC`)).close();
  });
});
