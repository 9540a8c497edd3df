import { expect, test } from '@jest/globals';
import { createSystemClock } from '@a2a-cluster/core';
import { createDatabase } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, openRaw } from '@a2a-cluster/testing';
import { SCOPE, Writer, collectTo, range, seqsOf, until } from '../src/contract/world.js';
import { createEventStream } from '../src/index.js';

const clock = createSystemClock();

test.each(availableProviders().filter((provider) => provider === 'postgresql'))(
  'a listening connection that the server cuts on %s is replaced, and nothing is missed',
  async (provider) => {
    const made = await createTestDatabase({ provider });
    const database = await createDatabase({ url: made.url, ttlMs: 15_000, poolSize: 2 });
    const raw = await openRaw(made.url);
    // So long an interval that only LISTEN and the read after it can bring news in time.
    const stream = createEventStream({ database, clock, options: { pollIntervalMs: 600_000 } });
    try {
      await stream.start();
      const writer = new Writer({ database });
      await writer.create();
      const opened = await stream.open({ taskId: writer.taskId, scope: SCOPE });
      if (opened === null) throw new Error('not opened');
      const reading = collectTo(opened.tail, 5);
      await writer.write(2);
      await raw.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE 'LISTEN%'`);
      await until(() => !stream.status().listening);
      await until(() => stream.status().listening);
      await writer.write(2);
      if (database.hints.kind === 'listen') await database.hints.notify([writer.taskId]);
      expect(seqsOf(await reading)).toEqual(range(2, 5));
    } finally {
      await stream.close();
      await Promise.all([database.close(), raw.close()]);
      await made.drop();
    }
  },
);
