import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import type { DatabaseOptions } from '../database-options.js';
import type { Database } from '../database.js';
import { PrismaClient } from '../generated/mysql/client.js';
import { createPushConfigQueries } from '../prisma/push-config-queries.js';
import { createTaskQueries } from '../prisma/task-queries.js';
import { guardOperatorQueries } from '../statements/find-tasks.js';
import { checkMysql } from './check.js';
import { createJournal } from './journal.js';
import { createLeases } from './leases.js';
import { createLog } from './log.js';
import { createOperators } from './operators.js';
import { createPool, type Pool } from './pool.js';
import { asDriverPool } from './prisma-pool.js';
import { createPushQueue } from './push-queue.js';
import { read } from './reads.js';
import { createReplicas } from './replicas.js';
import { createRetention } from './retention.js';
import { lockSecondsOf, type SessionLimits } from './session-settings.js';
import { parseTarget } from './target.js';
import { statement } from './texts.js';

/** Two, so that one beat that hangs does not hold up the next. */
const BEAT_POOL_SIZE = 2;

/** The least a beat is given, in milliseconds. */
const LEAST_BEAT_MS = 500;

/**
 * A MySQL or MariaDB database. Opens no connection yet.
 *
 * The journal, the leases and the push queue speak to the bare driver: their transactions are two texts of several statements, which
 * Prisma cannot send, and its interactive transactions take four round trips. Prisma reads lists and keeps push
 * configs.
 *
 * @throws `ClusterError` `CONFIG_INVALID` when the URL cannot be read.
 */
export async function createMysqlDatabase(options: DatabaseOptions): Promise<Database> {
  const { writes, reads, beats, databaseName } = openPools(options);
  const logger = options.logger ?? createSilentLogger();
  const adapter = new PrismaMariaDb(asDriverPool(reads), { database: databaseName, useTextProtocol: true });
  const prisma = new PrismaClient({ adapter });
  const pools = [writes, reads, beats];
  let closing: Promise<void> | undefined;
  return {
    provider: 'mysql',
    journal: createJournal({ writes, reads, logger }),
    leases: createLeases({ beats, others: reads }),
    log: createLog(reads),
    tasks: createTaskQueries(prisma, 'mysql'),
    pushConfigs: createPushConfigQueries(prisma, 'mysql'),
    pushQueue: createPushQueue({ writes, reads }),
    replicas: createReplicas({ writes, reads }),
    operators: guardOperatorQueries(createOperators(reads)),
    retention: createRetention({ writes, reads }),
    hints: { kind: 'none' },
    check: async ({ maxEventBytes }) => ({ warnings: await checkMysql({ pools, maxEventBytes }) }),
    ping: async () => void (await read(reads, statement('SELECT 1'))),
    close: () =>
      (closing ??= Promise.all([
        prisma.$disconnect().catch(() => {}),
        ...pools.map((pool) => pool.close()),
      ]).then(() => {})),
  };
}

function openPools(options: DatabaseOptions): {
  readonly writes: Pool;
  readonly reads: Pool;
  readonly beats: Pool;
  readonly databaseName: string;
} {
  const { url, ttlMs, poolSize = 10, statementTimeoutMs = 10_000, connectTimeoutMs = 5_000 } = options;
  const target = parseTarget(url);
  const shared = { target, clock: createSystemClock(), logger: options.logger ?? createSilentLogger() };
  const limits = {
    statementMs: statementTimeoutMs,
    connectMs: connectTimeoutMs,
    lockSeconds: lockSecondsOf(ttlMs),
  };
  const size = Math.max(1, Math.floor(poolSize / 2));
  return {
    writes: createPool({
      ...shared,
      name: 'journal',
      size: Math.max(1, poolSize - size),
      limits,
      multipleStatements: true,
    }),
    reads: createPool({ ...shared, name: 'read', size, limits, multipleStatements: false }),
    beats: createPool({
      ...shared,
      name: 'lease',
      size: BEAT_POOL_SIZE,
      limits: beatLimits(limits, ttlMs),
      multipleStatements: true,
    }),
    databaseName: target.database,
  };
}

/** A renewal that takes longer than a fifth of the TTL has failed (protocol 11), the connect included. */
function beatLimits(limits: SessionLimits, ttlMs: number): SessionLimits {
  const renewalMs = Math.max(LEAST_BEAT_MS, Math.floor(ttlMs / 5));
  return {
    ...limits,
    statementMs: Math.min(limits.statementMs, renewalMs),
    connectMs: Math.min(limits.connectMs, renewalMs),
  };
}
