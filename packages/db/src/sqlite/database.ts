import { createSystemClock } from '@a2a-cluster/core';
import type { DatabaseOptions } from '../database-options.js';
import type { Database } from '../database.js';
import { PrismaClient } from '../generated/sqlite/client.js';
import { createPushConfigQueries } from '../prisma/push-config-queries.js';
import { createTaskQueries } from '../prisma/task-queries.js';
import { guardOperatorQueries } from '../statements/find-tasks.js';
import { checkSqlite } from './check.js';
import { SqliteConnection } from './connection.js';
import { createSqliteJournal } from './journal.js';
import { createSqliteLeases } from './leases.js';
import { createSqliteLog } from './log.js';
import { createSqliteOperators } from './operators.js';
import { createSqlitePushQueue } from './push-queue.js';
import { createSqliteReplicas } from './replicas.js';
import { createSqliteRetention } from './retention.js';
import { SafeSqlite } from './safe-sqlite.js';
import { fileOfUrl } from './target.js';

/**
 * A SQLite database: one file, shared by the replicas of one machine. Opens nothing yet.
 *
 * Journal, leases, log and push queue speak to the bare driver, each transaction in one synchronous call: a transaction through
 * Prisma holds the file's one write lock over several turns of the event loop, and a process that is slow or stopped
 * there holds up every other one. Prisma reads lists and keeps push configs, on a connection of its own.
 *
 * @throws ClusterError `CONFIG_INVALID` when the URL names no file.
 */
export async function createSqliteDatabase(options: DatabaseOptions): Promise<Database> {
  const { statementTimeoutMs: patienceMs = 10_000, ttlMs, sqliteSynchronous: synchronous = 'FULL' } = options;
  const clock = createSystemClock();
  const target = { file: fileOfUrl(options.url), synchronous };
  const connection = new SqliteConnection(target, clock);
  const requests = connection.lane(patienceMs);
  // The renewal timeout of protocol 11: a beat that is late is told so while there is time to try again.
  const beats = connection.lane(Math.min(patienceMs, Math.max(1, Math.floor(ttlMs / 5))));
  const prisma = new PrismaClient({ adapter: new SafeSqlite({ ...target, clock, patienceMs }) });
  let closing: Promise<void> | undefined;
  return {
    provider: 'sqlite',
    journal: createSqliteJournal(requests),
    leases: createSqliteLeases(beats),
    log: createSqliteLog(requests),
    tasks: createTaskQueries(prisma, 'sqlite'),
    pushConfigs: createPushConfigQueries(prisma, 'sqlite'),
    pushQueue: createSqlitePushQueue(requests),
    replicas: createSqliteReplicas(requests),
    operators: guardOperatorQueries(createSqliteOperators(requests)),
    retention: createSqliteRetention(requests),
    hints: { kind: 'counter', read: () => connection.dataVersion() },
    check: async () => ({ warnings: await checkSqlite(target, requests) }),
    ping: () =>
      requests.run({
        name: 'ping',
        writes: false,
        work: (session) => void session.get('PRAGMA schema_version'),
      }),
    close: () =>
      (closing ??= (async () => {
        connection.close();
        await prisma.$disconnect().catch(() => {});
      })()),
  };
}
