import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { workspaceRoot } from '@a2a-cluster/testing';
import type { LogRecord } from '../history/history.js';
import { Client } from './client.js';
import { nowMs, pause } from './now.js';
import type { OpenFault, OpenReplica, Recorder } from './recorder.js';

/** What a replica process is started with. */
export interface ReplicaOptions {
  readonly name: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** Arguments of node before the program, such as a loader of a test build. */
  readonly nodeArgs: readonly string[];
  readonly recorder: Recorder;
  /** Tokens of the owners that may speak. */
  readonly tokens: Readonly<Record<string, string>>;
}

const program = path.join(workspaceRoot, 'apps/clustermode/bin/clustermode.js');

/** A real `clustermode serve` process, and what can be done to it. Every fault is written down. */
export class Replica {
  readonly base: string;
  /** Resolves with the exit code or the name of the signal. */
  readonly exited: Promise<number | string>;
  /** Lines of its log so far. */
  readonly logs: LogRecord[] = [];
  private readonly waiters = new Set<() => void>();
  private stopping: OpenFault | null = null;

  constructor(
    private readonly child: ChildProcess,
    private readonly record: OpenReplica,
    private readonly options: ReplicaOptions,
  ) {
    this.base = `http://127.0.0.1:${options.port}`;
    this.exited = once(child, 'exit').then(([code, signal]) => {
      record.exitedAtMs = nowMs();
      record.exit = (code as number | null) ?? String(signal);
      this.wake();
      return record.exit;
    });
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.onLine(line));
    if (child.stderr)
      createInterface({ input: child.stderr }).on('line', (line) => record.strayLines.push(line));
  }

  get name(): string {
    return this.options.name;
  }

  get port(): number {
    return this.options.port;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** What it is called in the tables; '' before it is ready. */
  get holder(): string {
    return this.record.holder ?? '';
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The channel to the hooks of a test build. */
  get channel(): ChildProcess {
    return this.child;
  }

  /** A client of this replica, as one of the owners. */
  as(owner = 'alice'): Client {
    const { recorder, tokens, name } = this.options;
    return new Client({ base: this.base, replica: name, owner, token: tokens[owner], recorder });
  }

  /** SIGKILL. */
  async kill(detail = 'SIGKILL'): Promise<void> {
    this.fault('kill', detail);
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Writes down a fault of this replica. */
  fault(kind: Parameters<Recorder['fault']>[0]['kind'], detail: string): OpenFault {
    return this.options.recorder.fault({ kind, replica: this.name, detail });
  }

  /** SIGSTOP, until {@link cont}. */
  stop(): void {
    this.stopping ??= this.fault('stop', 'SIGSTOP');
    this.child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  cont(): void {
    this.child.kill('SIGCONT');
    this.stopping?.end();
    this.stopping = null;
  }

  /** SIGTERM; `exited` tells when it is gone. */
  terminate(): void {
    this.fault('terminate', 'SIGTERM');
    this.child.kill('SIGTERM');
  }

  /** Ends it after everything was seen; no fault. */
  async end(): Promise<void> {
    if (this.alive) {
      const { exitedAtMs } = this.record;
      this.child.kill('SIGKILL');
      await this.exited;
      this.record.exitedAtMs = exitedAtMs;
      this.record.exit = null;
    }
  }

  /** The first line of its log that fits, written already or to come; undefined when it ends without one. */
  async log(fits: (line: LogRecord) => boolean): Promise<LogRecord | undefined> {
    for (;;) {
      const found = this.logs.find(fits);
      if (found || !this.alive) return found;
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  /** What `/readyz` says, or null when it does not answer. */
  async health(): Promise<{ readonly ready: boolean; readonly [fact: string]: unknown } | null> {
    const answer = await fetch(`${this.base}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => null,
    );
    return answer ? ((await answer.json()) as { ready: boolean }) : null;
  }

  /** Resolves once it is ready. @throws Error with what it said when it ends before. */
  async ready(): Promise<void> {
    while (this.alive) {
      const health = await this.health();
      if (health !== null) this.record.holder = String(health['replicaId'] ?? '') || this.record.holder;
      if (health?.ready) return;
      await pause(50);
    }
    const said = [...this.record.strayLines, ...this.logs.map((line) => JSON.stringify(line))];
    throw new Error(
      `${this.name} ended with ${this.record.exit} before it was ready:\n${said.slice(-10).join('\n')}`,
    );
  }

  private wake(): void {
    for (const go of this.waiters) go();
    this.waiters.clear();
  }

  private onLine(line: string): void {
    const record = parseLine(line, this.name);
    if (record === null) return void this.record.strayLines.push(line);
    this.logs.push(record);
    this.options.recorder.logs.push(record);
    this.wake();
  }
}

function parseLine(line: string, replica: string): LogRecord | null {
  try {
    const { level, msg, taskId, epoch, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return {
      atMs: nowMs(),
      replica,
      level: String(level),
      msg: String(msg ?? ''),
      ...(typeof taskId === 'string' ? { taskId } : {}),
      ...(typeof epoch === 'number' ? { epoch } : {}),
      fields,
    };
  } catch {
    return null;
  }
}

/** Starts the process; it is not ready yet. */
export function spawnReplica(options: ReplicaOptions): Replica {
  const child = spawn(process.execPath, [...options.nodeArgs, program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      // One owner makes a whole load here, and reads all of it.
      MAX_TURNS_PER_OWNER: '10000',
      MAX_STREAMS_PER_OWNER: '10000',
      ...options.env,
      PORT: String(options.port),
      AUTH_TOKENS: Object.entries(options.tokens)
        .map(([owner, token]) => `${token}=${owner}`)
        .join(),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const record: OpenReplica = {
    ...{ name: options.name, holder: null, startedAtMs: nowMs() },
    ...{ exitedAtMs: null, exit: null, strayLines: [] },
  };
  options.recorder.replicas.push(record);
  return new Replica(child, record, options);
}
