import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  DefaultRequestHandler,
  resolveUserScope,
  type A2ARequestHandler,
  type AgentExecutor,
} from '@a2a-js/sdk/server';
import {
  ClusterError,
  createSilentLogger,
  createSystemClock,
  isStorableKey,
  withFields,
  sleep,
  type Clock,
  type Logger,
  type Service,
} from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createEventStream, type EventStream } from '@a2a-cluster/event-stream';
import {
  createClockWatch,
  createHeartbeat,
  resolveLeaseOptions,
  type ClockWatch,
  type Heartbeat,
  type ResolvedLeaseOptions,
} from '@a2a-cluster/lease-store';
import type { PushConfigStore } from '@a2a-cluster/push-notifications';
import type { Retention } from '@a2a-cluster/retention';
import {
  createClusterRequestHandler,
  createStreamingMiddleware,
  resolveHandlerOptions,
  RunningTurns,
  type ClusterRequestHandler,
  type ResolvedHandlerOptions,
  type StreamingMiddleware,
} from '@a2a-cluster/request-handler';
import {
  checkOrphanAge,
  createAbandonedTaskSweeper,
  EMBEDDED_SWEEP_BATCH,
  EMBEDDED_SWEEP_REST,
  type AbandonedTaskSweeper,
} from '@a2a-cluster/sweeper';
import {
  createJournal,
  createSdkTaskStore,
  createTaskReader,
  scopeOf,
  type Journal,
  type TaskReader,
} from '@a2a-cluster/task-store';
import { checkClusterParts } from './check-parts.js';
import { createCloseSteps } from './close-steps.js';
import { createPush, type Push } from './create-push.js';
import { checkRetention, createClusterRetention } from './create-retention.js';
import { createDatabaseProbe, type DatabaseProbe } from './database-probe.js';
import { createOperator, type ClusterOperator } from './operator.js';
import type { ClusterOptions } from './options.js';
import { notReadyReasons, type ClusterStatus } from './status.js';

/** What of the options is the handler's, apart from the grace of a cancel, which the lease decides on. */
const HANDLER_OPTIONS = [
  ...(['maxConcurrentTurns', 'maxTurnsPerOwner', 'maxStreams', 'maxStreamsPerOwner'] as const),
  ...([
    'maxQueuedBytes',
    'maxEventBytes',
    'maxEventsPerTurn',
    'maxMessageParts',
    'maxMetadataDepth',
  ] as const),
  ...(['maxTaskMessages', 'drainTimeoutMs', 'interruptedTurnTimeoutMs', 'slowReaderTimeoutMs'] as const),
  ...(['failRunningTurnsOnClose', 'incompleteTurn'] as const),
];

/** How long a close may go on when the drain is over, also without a database. Five seconds are promised. */
const AFTER_DRAIN_MS = 4_500;

/** How long deliveries go on once the last turn has ended. What is left then is for other replicas. */
const PUSH_GRACE_MS = 1_000;

/** What subscribers get for taking the last events. Longer: a close takes longer while anybody subscribes. */
const FLUSH_MS = 50;

/** One replica of a cluster. */
export interface Cluster extends Service {
  /** Takes the place of `DefaultRequestHandler` in the SDK's transports. */
  readonly requestHandler: ClusterRequestHandler;
  /**
   * Express middleware to mount in front of the transports: frees a stream when its client goes away, holds it when
   * the client is slow, and cuts it off when the client takes nothing for `slowReaderTimeoutMs`.
   */
  streaming(): StreamingMiddleware;
  readonly operator: ClusterOperator;
  /** A snapshot; no I/O. */
  status(): ClusterStatus;
  /**
   * Refuses new turns, waits for the running ones, ends the rest, and stops (protocol 10). Bounded by the drain
   * time and a TTL, also when the database is away. Idempotent; a second call waits for the first.
   */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}

/**
 * Composes one replica. Opens the database and checks that it can be used; nothing runs before `start`.
 *
 * @throws ClusterError `CONFIG_INVALID` (options that do not add up, a missing part), `DATABASE_UNREACHABLE`,
 * `DATABASE_UNSUITABLE`, `SCHEMA_BEHIND` or `SCHEMA_FOREIGN`; nothing stays open then.
 */
export async function createCluster(options: ClusterOptions): Promise<Cluster> {
  checkClusterParts(options);
  checkRetention(options);
  const lease = resolveLeaseOptions({
    ...options.lease,
    ...(options.sweeper?.intervalMs === undefined ? {} : { sweepIntervalMs: options.sweeper.intervalMs }),
    ...(options.cancelGraceMs === undefined ? {} : { cancelGraceMs: options.cancelGraceMs }),
  });
  checkOrphanAge({ orphanAfterMs: options.sweeper?.orphanAfterMs, ttlMs: lease.ttlMs });
  const handler = resolveHandlerOptions(handlerOptions(options, lease), {
    heartbeatMs: lease.heartbeatMs,
    trustMs: lease.ttlMs - lease.marginMs,
  });
  const holder = holderOf(options);
  const logger = withFields(options.logger ?? createSilentLogger(), { replicaId: holder });
  const database = options.database ?? (await openDatabase(options, { ttlMs: lease.ttlMs, logger }));
  try {
    const { warnings } = await database.check({ maxEventBytes: handler.maxEventBytes });
    for (const warning of warnings) logger.warn({}, warning);
    await warmUp(database);
    const clock = options.clock ?? createSystemClock();
    return new Replica({ options, lease, handler, logger, database, clock, holder });
  } catch (error) {
    if (options.database === undefined) await database.close();
    throw error;
  }
}

/** The name of this boot: another one at every start, so that no replica takes an earlier one's leases for its own. */
function holderOf(options: ClusterOptions): string {
  const holder = `${options.replicaId ?? hostname()}-${randomUUID().slice(0, 8)}`;
  if (isStorableKey(holder)) return holder;
  throw new ClusterError('CONFIG_INVALID', 'replicaId is too long or cannot be stored');
}

/**
 * The query compiler behind lists and push configs compiles itself at its first query and blocks the process
 * meanwhile, on a busy machine for longer than a heartbeat: better before the first turn than during it.
 */
async function warmUp(database: Database): Promise<void> {
  const nobody = { tenant: '', owner: '' };
  await database.pushConfigs.load({ taskId: 'warm-up', scope: nobody });
  await database.tasks.list({ scope: nobody, limit: 1 });
}

function handlerOptions(
  options: ClusterOptions,
  lease: ResolvedLeaseOptions,
): Parameters<typeof resolveHandlerOptions>[0] {
  const given = HANDLER_OPTIONS.map((name) => [name, options[name]] as const);
  return {
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    cancelGraceMs: lease.cancelGraceMs,
  };
}

async function openDatabase(
  options: ClusterOptions,
  context: { readonly ttlMs: number; readonly logger: Logger },
): Promise<Database> {
  return createDatabase({ ...options.databaseOptions, ...context, url: options.databaseUrl ?? '' });
}

interface ReplicaParts {
  readonly options: ClusterOptions;
  readonly lease: ResolvedLeaseOptions;
  readonly handler: ResolvedHandlerOptions;
  readonly logger: Logger;
  readonly database: Database;
  readonly clock: Clock;
  readonly holder: string;
}

class Replica implements Cluster {
  readonly requestHandler: ClusterRequestHandler;
  readonly operator: ClusterOperator;
  private readonly stream: EventStream;
  private readonly heartbeat: Heartbeat;
  private readonly clockWatch: ClockWatch;
  private readonly journal: Journal;
  private readonly sweeper: AbandonedTaskSweeper;
  private readonly push: Push;
  private readonly retention: Retention | null;
  private readonly probe: DatabaseProbe;
  private phase: 'starting' | 'running' | 'draining' | 'closed' = 'starting';
  private starting: Promise<void> | null = null;
  private closing: Promise<void> | null = null;

  constructor(private readonly parts: ReplicaParts) {
    const { options, lease, logger, database, clock, holder } = parts;
    const hints = options.hints ?? 'auto';
    const pollIntervalMs =
      options.pollIntervalMs === undefined ? {} : { pollIntervalMs: options.pollIntervalMs };
    this.stream = createEventStream({ database, clock, logger, options: { hints, ...pollIntervalMs } });
    this.heartbeat = createHeartbeat({ leases: database.leases, holder, options: lease, clock, logger });
    this.clockWatch = createClockWatch({ leases: database.leases, options: lease, clock, logger });
    const reader = createTaskReader({ database });
    const ownerResolver = options.ownerResolver ?? resolveUserScope;
    this.push = createPush({ options, ownerResolver, database, clock, logger, holder });
    this.journal = createJournal({
      database,
      clock,
      logger,
      holder,
      ttlMs: lease.ttlMs,
      onCommitted: (committed) => {
        this.stream.committed(committed);
        this.push.delivery?.delivered(committed);
      },
    });
    this.sweeper = createAbandonedTaskSweeper({
      journal: this.journal,
      leases: database.leases,
      clockWatch: this.clockWatch,
      sweeperId: holder,
      options: {
        sweepIntervalMs: lease.sweepIntervalMs,
        ttlMs: lease.ttlMs,
        batchSize:
          options.sweeper?.batchSize ?? (database.provider === 'sqlite' ? EMBEDDED_SWEEP_BATCH : undefined),
        restShare: database.provider === 'sqlite' ? EMBEDDED_SWEEP_REST : undefined,
        orphanAfterMs: options.sweeper?.orphanAfterMs,
      },
      telemetry: options.telemetry,
      clock,
      logger,
    });
    this.retention = createClusterRetention({ options, database, reader, clock, logger });
    this.probe = createDatabaseProbe({ database, clock, logger, intervalMs: lease.heartbeatMs });
    this.operator = createOperator({ database, journal: this.journal, holder, clock });
    this.requestHandler = this.createHandler(reader);
  }

  private createHandler(reader: TaskReader): ClusterRequestHandler {
    const { options, lease, handler, logger, database, clock, holder } = this.parts;
    const { configs: pushConfigs, checkConfig: checkPushConfig } = this.push;
    const { stream, heartbeat, journal, clockWatch } = this;
    const ownerResolver = options.ownerResolver ?? resolveUserScope;
    const turns = new RunningTurns({
      journal,
      stream,
      heartbeat,
      clock,
      logger,
      holder,
      ttlMs: lease.ttlMs,
      options: handler,
      newId: () => randomUUID(),
    });
    return createClusterRequestHandler({
      card: options.agentCard,
      executor: options.executor,
      inner: createInnerHandler({
        options,
        store: createSdkTaskStore({ database, reader, ownerResolver, logger }),
        pushConfigs,
      }),
      rules: { card: options.agentCard, validateInputModes: options.validateInputModes ?? false },
      statements: database.journal,
      leases: database.leases,
      cancelGraceMs: handler.cancelGraceMs,
      options: handler,
      ttlMs: lease.ttlMs,
      freshlyQuiet: () => clockWatch.freshlyQuiet(),
      checkPushConfig,
      telemetry: options.telemetry,
      scopeOf: (context) => scopeOf(context, ownerResolver),
      ...{ journal, reader, stream, turns, pushConfigs, clock, logger, holder },
    });
  }

  streaming(): StreamingMiddleware {
    const { logger, handler } = this.parts;
    return createStreamingMiddleware({ logger, slowReaderTimeoutMs: handler.slowReaderTimeoutMs });
  }

  start(): Promise<void> {
    if (this.phase !== 'starting') return Promise.resolve();
    return (this.starting ??= this.begin());
  }

  private async begin(): Promise<void> {
    await this.stream.start();
    await this.heartbeat.start();
    await this.sweeper.start();
    await this.push.delivery?.start();
    await this.retention?.start();
    await this.probe.start();
    if (this.phase !== 'starting') return;
    this.phase = 'running';
    this.parts.logger.info({ replicaId: this.parts.holder }, 'the replica is running');
  }

  status(): ClusterStatus {
    const { heldCount, lastBeatAgeMs } = this.heartbeat.status();
    const databaseAgeMs = this.probe.ageMs();
    const { lease, holder } = this.parts;
    const freshMs = lease.ttlMs - lease.marginMs;
    const reasons = notReadyReasons({ phase: this.phase, lastBeatAgeMs, databaseAgeMs, freshMs });
    return {
      ready: reasons.length === 0,
      reasons,
      replicaId: holder,
      runningTurns: this.requestHandler.runningTurns,
      heldLeases: heldCount,
      lastBeatAgeMs,
      databaseAgeMs,
      stream: this.stream.status(),
      push: this.push.delivery?.status() ?? null,
    };
  }

  close(options: { readonly drainTimeoutMs?: number } = {}): Promise<void> {
    this.closing ??= this.shutdown(options.drainTimeoutMs ?? this.parts.handler.drainTimeoutMs);
    return this.closing;
  }

  /** The order of protocol 10: leases are kept until the last turn has ended. No step can keep the next from coming. */
  private async shutdown(drainTimeoutMs: number): Promise<void> {
    const { handler, lease, logger, database, options, clock } = this.parts;
    const writeTimeoutMs = lease.renewalTimeoutMs;
    this.phase = 'draining';
    logger.info({ runningTurns: this.requestHandler.runningTurns }, 'draining');
    const totalMs = drainTimeoutMs + AFTER_DRAIN_MS;
    const steps = createCloseSteps({ clock, logger, limitMs: writeTimeoutMs, totalMs });
    await steps.run({
      name: 'turns',
      limitMs: drainTimeoutMs + 2 * writeTimeoutMs,
      work: () =>
        this.requestHandler.closeTurns({
          drainTimeoutMs,
          fail: handler.failRunningTurnsOnClose,
          writeTimeoutMs,
        }),
    });
    // Half of the step: what is left of it is for giving the claims back.
    const graceMs = Math.min(PUSH_GRACE_MS, writeTimeoutMs / 2);
    await steps.run({ name: 'push', work: async () => this.push.delivery?.close({ graceMs }) });
    await steps.run({ name: 'tails', work: () => this.flushTails() });
    await Promise.all([
      steps.run({ name: 'stream', work: () => this.stream.close() }),
      steps.run({ name: 'sweeper', work: () => this.sweeper.close() }),
      steps.run({ name: 'retention', work: async () => this.retention?.close() }),
      steps.run({ name: 'probe', work: () => this.probe.close() }),
    ]);
    await steps.run({ name: 'heartbeat', work: () => this.heartbeat.close() });
    if (options.database === undefined) await steps.run({ name: 'database', work: () => database.close() });
    this.phase = 'closed';
    logger.info({}, 'closed');
  }

  /** Subscribers have been woken for the last events; a moment lets them take them before the tails are cut. */
  private async flushTails(): Promise<void> {
    if (this.stream.status().tails > 0) await sleep({ clock: this.parts.clock, delayMs: FLUSH_MS });
  }
}

/** The SDK's own handler answers what needs no turn; its executor is never called. */
function createInnerHandler(parts: {
  readonly options: ClusterOptions;
  readonly store: ConstructorParameters<typeof DefaultRequestHandler>[1];
  readonly pushConfigs: PushConfigStore | null;
}): A2ARequestHandler {
  const { options, store, pushConfigs } = parts;
  return new DefaultRequestHandler(
    options.agentCard,
    store,
    neverExecutor,
    undefined,
    pushConfigs ?? undefined,
    pushConfigs ? { send: () => Promise.resolve() } : undefined,
    options.extendedAgentCard,
  );
}

const never = (): Promise<never> =>
  Promise.reject(new ClusterError('BUG', 'the inner handler runs no turns and cancels none'));

const neverExecutor: AgentExecutor = { execute: never, cancelTask: never };
