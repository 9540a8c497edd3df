import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { workspaceRoot } from '@a2a-cluster/testing';
import { A2AClient } from './a2a-client.js';

/** A line of a replica's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** The intervals every scenario runs with. */
export const TTL_MS = 3_000;
export const HEARTBEAT_MS = 500;

/** What a replica is started with. */
export interface StartReplica {
  readonly databaseUrl: string;
  readonly name?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A real `clustermode serve` process. */
export class ReplicaProcess {
  readonly logs: LogLine[] = [];
  readonly errors: string[] = [];
  readonly client: A2AClient;
  private readonly waiters = new Set<() => void>();
  /** The exit code, or the signal's name. */
  readonly exited: Promise<number | string>;

  constructor(
    private readonly child: ChildProcess,
    readonly base: string,
    readonly name: string,
  ) {
    this.client = new A2AClient(base);
    this.exited = once(child, 'exit').then(([code, signal]) => (code as number | null) ?? String(signal));
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.onLine(line));
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.errors.push(line));
  }

  /** A client with a token. */
  as(token: string): A2AClient {
    return new A2AClient(this.base, token);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Kills it if it still runs, and waits for its end. */
  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.exited;
  }

  /** The first log line that fits, written already or to come. */
  async log(fits: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = this.logs.find(fits);
      if (found) return found;
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  private onLine(line: string): void {
    try {
      this.logs.push(JSON.parse(line) as LogLine);
    } catch {
      this.errors.push(line);
    }
    for (const wake of this.waiters) wake();
    this.waiters.clear();
  }
}

/** Starts a replica and waits until it says that it is ready. */
export async function startReplica(options: StartReplica): Promise<ReplicaProcess> {
  const port = await freePort();
  const replica = spawnReplica(options, port);
  const failed = replica.exited.then((code) => {
    const said = [...replica.errors, ...replica.logs.map((line) => JSON.stringify(line))]
      .slice(-10)
      .join('\n');
    throw new Error(`the replica ended with ${code} before it was ready:\n${said}`);
  });
  await Promise.race([ready(replica), failed]);
  failed.catch(() => {});
  return replica;
}

/** Starts the process without waiting for anything. */
export function spawnReplica(options: StartReplica, port: number): ReplicaProcess {
  const bin = path.join(workspaceRoot, 'apps/clustermode/bin/clustermode.js');
  const child = spawn(process.execPath, [bin, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: options.databaseUrl,
      PORT: String(port),
      REPLICA_ID: options.name ?? `r${port}`,
      LEASE_TTL_MS: String(TTL_MS),
      LEASE_HEARTBEAT_MS: String(HEARTBEAT_MS),
      SWEEP_INTERVAL_MS: '1000',
      PUSH_ALLOW_PRIVATE: 'true',
      LOG_LEVEL: 'debug',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new ReplicaProcess(child, `http://127.0.0.1:${port}`, options.name ?? `r${port}`);
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function ready(replica: ReplicaProcess): Promise<void> {
  for (;;) {
    const answer = await fetch(`${replica.base}/readyz`).catch(() => null);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
