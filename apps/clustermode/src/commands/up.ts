import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createSilentLogger } from '@a2a-cluster/core';
import { loadAgent } from '../agent/agent-module.js';
import { composeCluster } from '../compose.js';
import { processEnvironment, type Config, type SettingTexts } from '../config.js';
import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import { watchStopSignals } from '../stop-signals.js';
import { migrateFirst } from './serve.js';

/** What `up` is told. */
export interface UpOptions {
  readonly config: Config;
  /** Settings from the command line, handed to every replica. */
  readonly flags: SettingTexts;
  readonly migrate: boolean;
  readonly replicas: number;
  /** The first replica's port; the others follow. */
  readonly basePort: number;
}

interface Replica {
  readonly name: string;
  readonly child: ChildProcess;
  readonly ended: Promise<number>;
}

const program = process.argv[1] ?? '';

/**
 * Runs replicas as processes on one database, each line of theirs with its name before it. None is started again
 * when it ends. The first signal drains them all, a second one ends them at once. The exit code: 0 when all ended
 * with 0.
 * @throws ClusterError when the database cannot be used as it is; no replica was started then.
 */
export async function up(options: UpOptions): Promise<number> {
  const { config, migrate, replicas } = options;
  if (migrate) await migrateFirst(config, createSilentLogger());
  await checkDatabase(config);
  const running = Array.from({ length: replicas }, (_, index) => startReplica(options, index));
  const signals = watchStopSignals((code) => {
    for (const { child } of running) child.kill('SIGKILL');
    process.exit(code);
  });
  void signals.stop.then(() => {
    const alive = running.filter(({ child }) => child.exitCode === null && child.signalCode === null);
    say(`draining ${alive.length} of ${running.length} replicas; again to end them at once`);
    for (const { child } of running) child.kill('SIGTERM');
  });
  const codes = await Promise.all(running.map((replica) => ending(replica, () => signals.stopped)));
  return codes.every((code) => code === 0) ? EXIT_OK : EXIT_FAILED;
}

async function checkDatabase(config: Config): Promise<void> {
  const agent = await loadAgent(config.agentModule);
  const cluster = await composeCluster({ config, agent, logger: createSilentLogger() });
  await cluster.close();
}

/** A replica in a process group of its own, so that a Ctrl-C at the terminal reaches it through this process only. */
function startReplica(options: UpOptions, index: number): Replica {
  const { flags, basePort, config } = options;
  const environment = processEnvironment();
  const given = flags['REPLICA_ID'] ?? environment['REPLICA_ID'];
  const name = given ? `${config.replicaId}-${index + 1}` : `replica-${index + 1}`;
  const port = String(basePort + index);
  const child = spawn(process.execPath, [program, 'serve'], {
    env: { ...environment, ...flags, PORT: port, REPLICA_ID: name, ...operatorPort(config, index) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  say(`${name} is process ${child.pid ?? '?'} on port ${port}`);
  prefix(child.stdout, process.stdout, name);
  prefix(child.stderr, process.stderr, name);
  const ended = new Promise<number>((resolve) => {
    child.once('error', () => resolve(EXIT_FAILED));
    child.once('close', (code) => resolve(code ?? EXIT_FAILED));
  });
  return { name, child, ended };
}

/** A listener for the operator has a port of its own in every replica, as the one for clients has. */
function operatorPort({ operator }: Config, index: number): { readonly OPERATOR_PORT?: string } {
  if (operator.port === undefined) return {};
  return { OPERATOR_PORT: String(operator.port === 0 ? 0 : operator.port + index) };
}

async function ending(replica: Replica, draining: () => boolean): Promise<number> {
  const code = await replica.ended;
  const { name, child } = replica;
  const how = child.signalCode === null ? `with code ${code}` : `by ${child.signalCode}`;
  say(`${name} ended ${how}${draining() ? '' : '; the others go on'}`);
  return code;
}

function prefix(from: Readable | null, to: NodeJS.WritableStream, name: string): void {
  if (from === null) return;
  createInterface({ input: from }).on('line', (line) => to.write(`[${name}] ${line}\n`));
}

function say(text: string): void {
  process.stdout.write(`[up] ${text}\n`);
}
