import { PrismaPg } from '@prisma/adapter-pg';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import type { DatabaseOptions } from '../database-options.js';
import type { Database } from '../database.js';
import { PrismaClient } from '../generated/postgresql/client.js';
import { createPushConfigQueries } from '../prisma/push-config-queries.js';
import { createTaskQueries } from '../prisma/task-queries.js';
import { guardOperatorQueries } from '../statements/find-tasks.js';
import { checkPostgres } from './check.js';
import { beatLimits, parsePostgresUrl, poolConfig, requestLimits } from './connection-config.js';
import { createConnections, type Connections } from './connections.js';
import type { Statement } from './statement.js';
import { createPostgresHints } from './hints.js';
import { createPostgresJournal } from './journal.js';
import { createPostgresLeases } from './leases.js';
import { createPostgresLog } from './log.js';
import { createPostgresOperators } from './operators.js';
import { createPrepared } from './prepared.js';
import { createPostgresPushQueue } from './push-queue.js';
import { createPostgresReplicas } from './replicas.js';
import { createPostgresRetention } from './retention.js';
import { createRetrying } from './retry.js';

/** Two, so that one beat that waits does not hold up the next. */
const BEAT_POOL_SIZE = 2;

/**
 * How long a connection for requests lives. Its prepared plans were made for the tables of their day; where nothing
 * analyses those, the plans of an empty table would be kept for good.
 */
const LIFETIME_S = 15 * 60;

/** How long `close` waits for statements that run. */
const CLOSE_MS = 2_000;

const ping: Statement = { name: 'ping', writes: false, text: 'SELECT 1' };

/**
 * A PostgreSQL database. Opens no connection yet.
 *
 * The journal, the leases, the log and the push queue speak to the bare driver: one statement through Prisma costs 1.6 times as much
 * here, an interactive transaction more than twice as much, and it can end the process when its time limit meets a
 * COMMIT. Prisma reads lists and keeps push configs, on the request pool.
 *
 * @throws `ClusterError` `CONFIG_INVALID` when the URL cannot be read.
 */
export async function createPostgresDatabase(options: DatabaseOptions): Promise<Database> {
  const parts = connect(options);
  const { requests, beats, streams, hints, schema, clock } = parts;
  const prisma = new PrismaClient({ adapter: new PrismaPg(requests.pool, { schema }) });
  const { statementTimeoutMs } = requestLimits(options);
  const retrying = createRetrying({ connections: requests, clock, withinMs: statementTimeoutMs });
  let closing: Promise<void> | undefined;
  return {
    provider: 'postgresql',
    journal: createPostgresJournal(retrying),
    leases: createPostgresLeases(beats),
    log: createPostgresLog({ requests, heads: streams }),
    tasks: createTaskQueries(prisma, 'postgresql'),
    pushConfigs: createPushConfigQueries(prisma, 'postgresql'),
    pushQueue: createPostgresPushQueue(retrying),
    replicas: createPostgresReplicas(requests),
    operators: guardOperatorQueries(createPostgresOperators(requests)),
    retention: createPostgresRetention(retrying),
    hints,
    check: async () => ({ warnings: await checkPostgres({ requests, beats, hints, schema }) }),
    ping: async () => void (await requests.run(ping, [])),
    close: () =>
      (closing ??= Promise.all([
        prisma.$disconnect().catch(() => {}),
        requests.close(CLOSE_MS),
        beats.close(CLOSE_MS),
        streams.close(CLOSE_MS),
      ]).then(() => {})),
  };
}

function connect(options: DatabaseOptions) {
  const logger = options.logger ?? createSilentLogger();
  const clock = createSystemClock();
  const target = parsePostgresUrl(options.url);
  const limits = requestLimits(options);
  const beat = beatLimits(options);
  const prepared = createPrepared({ logger });
  const open = (config: Parameters<typeof createConnections>[0]['config']): Connections =>
    createConnections({ config, logger, clock, prepared });
  const requests = open({
    ...poolConfig({ target, limits, purpose: 'requests' }),
    max: options.poolSize ?? 10,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: LIFETIME_S,
  });
  // Never idle out: a beat must not pay for a connect.
  const beats = open({
    ...poolConfig({ target, limits: beat, purpose: 'leases' }),
    max: BEAT_POOL_SIZE,
    idleTimeoutMillis: 0,
  });
  // Streams wake by it: it waits for no request, and gives up soon on a connection that a cut has left dead.
  const streams = open({
    ...poolConfig({ target, limits: beat, purpose: 'streams' }),
    max: 1,
    idleTimeoutMillis: 30_000,
  });
  const livenessMs = Math.max(500, Math.floor(options.ttlMs / 3));
  const hints = createPostgresHints({
    requests,
    listenerConfig: { ...poolConfig({ target, limits, purpose: 'hints' }), query_timeout: livenessMs },
    schema: target.schema,
    clock,
    selfTestMs: limits.connectTimeoutMs,
    livenessMs,
  });
  return { requests, beats, streams, hints, schema: target.schema, clock };
}
