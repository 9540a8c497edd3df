import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { resolveUserScope } from '@a2a-js/sdk/server';
import { createTally, sleep, type Clock, type Logger, type Tally } from '@a2a-cluster/core';
import type { Database, ReplicaPhase } from '@a2a-cluster/db';
import { createEventStream, type EventStream } from '@a2a-cluster/event-stream';
import {
  createClockWatch,
  createHeartbeat,
  type ClockWatch,
  type Heartbeat,
  type ResolvedLeaseOptions,
} from '@a2a-cluster/lease-store';
import type { Retention } from '@a2a-cluster/retention';
import {
  createClusterRequestHandler,
  createStreamingMiddleware,
  RunningTurns,
  type ClusterRequestHandler,
  type ResolvedHandlerOptions,
  type StreamingMiddleware,
} from '@a2a-cluster/request-handler';
import {
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
import type { Cluster } from './cluster.js';
import { createCloseSteps } from './close-steps.js';
import { createPush, type Push } from './create-push.js';
import { createClusterRetention } from './create-retention.js';
import { createInnerHandler } from './inner-handler.js';
import { createOperator, type ClusterOperator } from './operator.js';
import { createLoopWatch, type LoopWatch } from './loop-watch.js';
import type { ClusterOptions } from './options.js';
import { createReplicaBoard, type ReplicaBoard } from './replica-board.js';
import { replicaStatsOf } from './replica-stats.js';
import { notAliveReasons, notReadyReasons, type ClusterStatus } from './status.js';
import { VERSION } from './version.js';

/** How long a close may go on when the drain is over, also without a database. Five seconds are promised. */
const AFTER_DRAIN_MS = 4_500;

/** How long deliveries go on once the last turn has ended. What is left then is for other replicas. */
const PUSH_GRACE_MS = 1_000;

/** What subscribers get for taking the last events. Longer: a close takes longer while anybody subscribes. */
const FLUSH_MS = 50;

/** What a replica is composed of, checked. */
export interface ReplicaParts {
  readonly options: ClusterOptions;
  readonly lease: ResolvedLeaseOptions;
  readonly handler: ResolvedHandlerOptions;
  readonly logger: Logger;
  readonly database: Database;
  readonly clock: Clock;
  readonly holder: string;
}

/** One replica, composed and not started. */
export class Replica implements Cluster {
  readonly requestHandler: ClusterRequestHandler;
  readonly operator: ClusterOperator;
  private readonly stream: EventStream;
  private readonly heartbeat: Heartbeat;
  private readonly clockWatch: ClockWatch;
  private readonly journal: Journal;
  private readonly sweeper: AbandonedTaskSweeper;
  private readonly push: Push;
  private readonly retention: Retention | null;
  private readonly board: ReplicaBoard;
  private readonly loopWatch: LoopWatch;
  private readonly telemetry: Tally;
  private paused = false;
  private phase: 'starting' | 'running' | 'draining' | 'closed' = 'starting';
  private starting: Promise<void> | null = null;
  private closing: Promise<void> | null = null;

  constructor(private readonly parts: ReplicaParts) {
    const { options, lease, logger, database, clock, holder } = parts;
    const telemetry = createTally(options.telemetry);
    this.telemetry = telemetry;
    const hints = options.hints ?? 'auto';
    const pollIntervalMs =
      options.pollIntervalMs === undefined ? {} : { pollIntervalMs: options.pollIntervalMs };
    const streamOptions = { hints, ...pollIntervalMs };
    this.stream = createEventStream({ database, clock, logger, telemetry, options: streamOptions });
    this.board = this.createBoard();
    const { reporter } = this.board;
    const { leases } = database;
    this.heartbeat = createHeartbeat({
      ...{ leases, holder, clock, logger, telemetry, reporter },
      options: lease,
    });
    this.clockWatch = createClockWatch({ leases, options: lease, clock, logger, telemetry });
    const reader = createTaskReader({ database });
    const ownerResolver = options.ownerResolver ?? resolveUserScope;
    this.push = createPush({ options, ownerResolver, database, clock, logger, holder });
    this.journal = createJournal({
      database,
      clock,
      logger,
      holder,
      ttlMs: lease.ttlMs,
      telemetry,
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
      telemetry,
      clock,
      logger,
    });
    this.retention = createClusterRetention({
      ...{ options, database, reader, clock, logger, telemetry },
      mayRun: () => this.board.isFirstAlive(),
    });
    this.loopWatch = createLoopWatch({ clock, windowMs: lease.heartbeatMs });
    this.requestHandler = this.createHandler(reader);
    const { journal, stream, board, requestHandler } = this;
    this.operator = createOperator({
      ...{ database, journal, holder, clock, reader, stream, board, requestHandler },
      delivery: this.push.delivery,
    });
  }

  private createBoard(): ReplicaBoard {
    const { database, clock, logger, holder, lease } = this.parts;
    const { heartbeatMs } = lease;
    return createReplicaBoard({
      ...{ database, clock, logger },
      identity: { replicaId: holder, version: VERSION, host: hostname(), pid: process.pid, heartbeatMs },
      describe: () => ({ phase: this.shownPhase(), stats: replicaStatsOf(this.telemetry, this.status()) }),
      onPause: (requested) => this.pause(requested),
    });
  }

  private shownPhase(): ReplicaPhase {
    if (this.phase === 'closed') return 'draining';
    return this.phase === 'running' && this.paused ? 'paused' : this.phase;
  }

  private pause(requested: boolean): void {
    if (this.paused === requested || this.phase === 'draining' || this.phase === 'closed') return;
    this.paused = requested;
    this.requestHandler.pause(requested);
    this.parts.logger.info(
      {},
      requested ? 'an operator paused this replica' : 'an operator resumed this replica',
    );
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
      telemetry: this.telemetry,
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
    await this.board.start();
    await this.loopWatch.start();
    if (this.phase !== 'starting') return;
    this.phase = 'running';
    this.board.changed();
    this.parts.logger.info({ replicaId: this.parts.holder }, 'the replica is running');
  }

  status(): ClusterStatus {
    const { heldCount, lastBeatAgeMs, lastAttemptAgeMs } = this.heartbeat.status();
    const databaseAgeMs = this.board.ageMs();
    const { lease, holder } = this.parts;
    const freshMs = lease.ttlMs - lease.marginMs;
    const { phase, paused } = this;
    const reasons = notReadyReasons({ phase, paused, lastBeatAgeMs, databaseAgeMs, freshMs });
    const stream = this.stream.status();
    const tried = { lastBeatAttemptAgeMs: lastAttemptAgeMs, eventLoopDelayMs: this.loopWatch.worstMs() };
    const notAlive = notAliveReasons({ phase, ...tried, stream, lease });
    return {
      alive: notAlive.length === 0,
      notAlive,
      ...tried,
      ready: reasons.length === 0,
      reasons,
      replicaId: holder,
      paused,
      runningTurns: this.requestHandler.runningTurns,
      heldLeases: heldCount,
      lastBeatAgeMs,
      databaseAgeMs,
      stream,
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
    this.board.changed();
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
      steps.run({ name: 'replica', work: () => this.board.close() }),
      steps.run({ name: 'loop watch', work: () => this.loopWatch.close() }),
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
