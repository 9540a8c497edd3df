import path from 'node:path';
import { Random, workspaceRoot, type TestProvider } from '@a2a-cluster/testing';
import {
  HISTORY_FORMAT,
  type FaultKind,
  type History,
  type Settings,
  type Violation,
} from '../history/history.js';
import { freePort } from '../tools/processes.js';
import { testBuildArgs } from '../tools/test-build.js';
import { Client } from './client.js';
import { startLoad, type LoadOptions, type LoadTask } from './load.js';
import { limit, nowMs, pause } from './now.js';
import { Recorder, type OpenFault } from './recorder.js';
import { spawnReplica, type Replica } from './replica.js';
import { startSampling } from './sampling.js';
import { environmentOf, settingsOf, type Size } from './settings.js';
import { startSink, type Answering, type Sink } from './sink.js';
import { Database } from './tables.js';

/** Owners that may speak, and their tokens. */
const TOKENS = { alice: 'token-of-alice', bob: 'token-of-bob' };

const observedAgent = path.join(workspaceRoot, 'test/faults/agents/observed.mjs');

/** How long streams have to take the last events before they are judged. */
const LAST_FRAMES_MS = 2_000;

/** Deliveries that end so soon behind a scenario are as good as done with it. */
const WORTH_TELLING_MS = 500;

/** What a world is made of. */
export interface WorldOptions {
  readonly scenario: string;
  readonly provider: TestProvider;
  /** An empty, migrated database of this scenario's own. */
  readonly databaseUrl: string;
  readonly seed: number;
  readonly size: Size;
  /** How long a soak lasts. */
  readonly minutes: number;
  /** The rule that is removed from every replica, in a mutation run. */
  readonly mutation?: string | undefined;
  /** Takes a line of progress. */
  say(text: string): void;
}

/** What a replica is started with, beside what all have. */
export interface StartOptions {
  /** Default: `r1`, `r2`, ... */
  readonly name?: string;
  /** `REPLICA_ID`, where it must differ from the name. */
  readonly replicaId?: string;
  /** The way to its database, where a proxy stands in it. */
  readonly databaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Starts a test build with these failpoints ('' for one whose failpoints are set later). */
  readonly failpoints?: string;
}

/** One scenario's cluster: its database, replicas, clients and webhook, and everything written down about them. */
export class World {
  readonly random: Random;
  readonly settings: Settings;
  readonly replicas: Replica[] = [];
  readonly figures: Record<string, number | string> = {};
  readonly violations: Violation[] = [];
  /** False once a scenario steps the database's clock. */
  databaseClockIsSteady = true;
  private pushesAwaited = false;
  private readonly ends: (() => Promise<void>)[] = [];
  /** Boots so far, also those that are under way: they are numbered. */
  private started = 0;
  private eventRetentionMs: number | null = null;

  readonly recorder: Recorder;
  /** The tables, past all code of the cluster. */
  database: Database;
  /** The webhook of every task under load. */
  readonly sink: Sink;

  private constructor(
    readonly options: WorldOptions,
    parts: { readonly recorder: Recorder; readonly database: Database; readonly sink: Sink },
  ) {
    this.recorder = parts.recorder;
    this.database = parts.database;
    this.sink = parts.sink;
    this.random = new Random(options.seed);
    this.settings = settingsOf(options.size);
  }

  static async create(options: WorldOptions): Promise<World> {
    const recorder = new Recorder();
    const database = new Database(options.provider, options.databaseUrl);
    const world = new World({ ...options }, { recorder, database, sink: await startSink(recorder) });
    world.atEnd(startSampling(world));
    return world;
  }

  get provider(): TestProvider {
    return this.options.provider;
  }

  /** Whether less is done than in the whole set. */
  get quick(): boolean {
    return this.options.size === 'quick';
  }

  /** Starts a replica and waits until it is ready. */
  async startReplica(options: StartOptions = {}): Promise<Replica> {
    const replica = await this.spawnReplica(options);
    await replica.ready();
    return replica;
  }

  /** Starts a replica and waits for nothing. */
  async spawnReplica(options: StartOptions = {}): Promise<Replica> {
    this.started += 1;
    const name = options.name ?? `r${this.started}`;
    const { mutation } = this.options;
    const { failpoints } = options;
    const build =
      failpoints === undefined && mutation === undefined
        ? { nodeArgs: [], env: {} }
        : testBuildArgs({
            ...(failpoints === undefined ? {} : { failpoints }),
            ...(mutation === undefined ? {} : { mutation }),
          });
    const replica = spawnReplica({
      name,
      port: await freePort(),
      nodeArgs: build.nodeArgs,
      recorder: this.recorder,
      tokens: TOKENS,
      env: {
        ...environmentOf(this.settings),
        ...(this.eventRetentionMs === null ? {} : { EVENT_RETENTION_MS: String(this.eventRetentionMs) }),
        DATABASE_URL: options.databaseUrl ?? this.database.url,
        REPLICA_ID: options.replicaId ?? name,
        AGENT_MODULE: observedAgent,
        ...build.env,
        ...options.env,
      },
    });
    this.replicas.push(replica);
    return replica;
  }

  /** Starts several at once. */
  async startReplicas(count: number, options: Omit<StartOptions, 'name'> = {}): Promise<Replica[]> {
    const first = this.started + 1;
    return Promise.all(
      Array.from({ length: count }, (_, index) =>
        this.startReplica({ ...options, name: `r${first + index}` }),
      ),
    );
  }

  /** Replicas started after this prune events of ended tasks so soon; the history keeps what they delete. */
  async pruneAfter(eventRetentionMs: number): Promise<void> {
    await this.database.archive();
    this.eventRetentionMs = eventRetentionMs;
  }

  /** A client that reaches replicas by something in front of them; `name` stands for that in the history. */
  clientBy(way: { readonly base: string; readonly name: string }): Client {
    const { recorder } = this;
    return new Client({ base: way.base, replica: way.name, owner: 'alice', token: TOKENS.alice, recorder });
  }

  /** Starts tasks and resolves when they run. */
  load(options: LoadOptions): Promise<LoadTask[]> {
    return startLoad(options, this.sink);
  }

  /** Writes down a fault that is not of one replica. */
  fault(kind: FaultKind, detail: string): OpenFault {
    return this.recorder.fault({ kind, detail });
  }

  /** Uses another database than the one that was made for the scenario; before any replica is started. */
  async useDatabase(url: string): Promise<void> {
    await this.database.close();
    this.database = new Database(this.provider, url);
  }

  /** Resolves once no turn runs and no lease is left; what still does after the limit is a violation. */
  async settled({ withinMs }: { readonly withinMs: number }): Promise<void> {
    const deadline = nowMs() + withinMs;
    for (;;) {
      const left = await this.database
        .unsettled()
        .catch((error: unknown) => [`the tables cannot be read: ${String(error)}`]);
      if (left.length === 0) return;
      if (nowMs() > deadline) {
        this.violate(
          `not settled after ${withinMs} ms: ${left.slice(0, 5).join('; ')} (${left.length} in all)`,
        );
        return;
      }
      await pause(50);
    }
  }

  /**
   * Resolves once no active webhook has anything to come; where that is not so after the limit it is a violation. Does
   * not wait where nobody is left to send, where the tables cannot be read, or where their clock was stepped: what is
   * due by that clock may be so in an hour.
   */
  async pushed({ withinMs }: { readonly withinMs: number }): Promise<void> {
    this.pushesAwaited = false;
    const beganAtMs = nowMs();
    const deadline = beganAtMs + withinMs;
    const poison = this.recorder.faults.filter(({ kind }) => kind === 'poison');
    while (this.databaseClockIsSteady && this.replicas.some(({ alive }) => alive)) {
      const left = await Promise.race([this.database.unpushed().catch(() => null), limit(withinMs)]);
      const late = left?.filter(({ taskId }) => !poison.some(({ detail }) => detail.includes(taskId)));
      if (late?.length === 0) {
        this.pushesAwaited = true;
        const waitedMs = nowMs() - beganAtMs;
        if (waitedMs > WORTH_TELLING_MS) this.figure('waited for pushes ms', waitedMs);
        return;
      }
      if (nowMs() > deadline) {
        const texts = late?.slice(0, 5).map(({ text }) => text) ?? [];
        if (late)
          this.violate(`not pushed after ${withinMs} ms: ${texts.join('; ')} (${late.length} in all)`);
        return;
      }
      await pause(50);
    }
  }

  /** A webhook at an origin of its own. */
  async openSink(answer: Answering | null): Promise<Sink> {
    const sink = await startSink(this.recorder);
    sink.answerWith(answer);
    this.atEnd(() => sink.close());
    return sink;
  }

  /** A number, or a few words, for the report. */
  figure(name: string, value: number | string): void {
    this.figures[name] = typeof value === 'number' ? Math.round(value * 100) / 100 : value;
  }

  /** Something that only this scenario expects. */
  expect(holds: boolean, text: string, taskId?: string): void {
    if (!holds) this.violate(text, taskId);
  }

  say(text: string): void {
    this.options.say(text);
  }

  /** Called when the scenario is over, last first: ends what it started beside replicas. */
  atEnd(end: () => Promise<void>): void {
    this.ends.push(end);
  }

  /** Everything that was seen, as it stands now. */
  async history(): Promise<History> {
    await this.lastFrames();
    const { recorder, options } = this;
    const aheadMs = await this.database.aheadMs();
    const tables = await this.database.read(aheadMs);
    return structuredClone({
      format: HISTORY_FORMAT,
      scenario: options.scenario,
      database: options.provider,
      seed: options.seed,
      beganAtMs: recorder.beganAtMs,
      endedAtMs: nowMs(),
      settings: {
        ...this.settings,
        ...(this.eventRetentionMs === null ? {} : { eventRetentionMs: this.eventRetentionMs }),
      },
      databaseAheadMs: aheadMs,
      databaseClockIsSteady: this.databaseClockIsSteady,
      pushesAwaited: this.pushesAwaited,
      replicas: recorder.replicas,
      faults: recorder.faults,
      tables,
      streams: recorder.streams,
      calls: recorder.calls,
      pushes: recorder.pushes,
      logs: recorder.logs,
      samples: recorder.samples,
    });
  }

  /** Ends every process and server of the scenario. */
  async end(): Promise<void> {
    await Promise.allSettled(this.replicas.map((replica) => replica.end()));
    for (const end of this.ends.reverse()) await end().catch((error: unknown) => this.say(String(error)));
    await this.database.close();
    await this.sink.close();
  }

  private violate(text: string, taskId?: string): void {
    const invariant = this.options.scenario;
    this.violations.push({ invariant, text, ...(taskId === undefined ? {} : { taskId }) });
  }

  /** Streams of tasks that have ended get a moment to say so. */
  private async lastFrames(): Promise<void> {
    const open = (): boolean => this.recorder.streams.some((stream) => stream.ended === null);
    const deadline = nowMs() + LAST_FRAMES_MS;
    while (open() && nowMs() < deadline) await pause(20);
  }
}
