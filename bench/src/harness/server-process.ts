import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../benchmark.js';
import type { ServerMessage, ServerSettings, ServerStats } from '../servers/protocol.js';

/** A server in a process of its own. */
export interface BenchServer {
  readonly port: number;
  /** What it has used since it started, and the statements since the last call. */
  stats(): Promise<ServerStats>;
  /** Lets agents that hold their turn say one more event and end. */
  release(): void;
  /** Ends the process, cleanly. A second call does nothing. */
  close(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../servers/main.js', import.meta.url));
const CLOSE_MS = 10_000;

/** Starts a server and waits until it listens. The benchmark's clean-up ends it. */
export async function startServer(context: BenchContext, settings: ServerSettings): Promise<BenchServer> {
  const { profileFolder } = context;
  const profiling =
    profileFolder === null
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=${nameOf(settings)}.cpuprofile`];
  const child = fork(MAIN, [JSON.stringify(settings)], {
    execArgv: [...profiling, '--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const closing = { done: null as Promise<void> | null };
  const close = (): Promise<void> => (closing.done ??= end(child));
  context.cleanUp(close);
  const ready = await nextMessage(child, 'ready');
  return {
    port: ready.port,
    stats: async () => {
      child.send({ type: 'stats' });
      return (await nextMessage(child, 'stats')).stats;
    },
    release: () => void child.send({ type: 'release' }),
    close,
  };
}

let started = 0;

function nameOf({ kind }: ServerSettings): string {
  started += 1;
  return `${kind}-${process.pid}-${started}`;
}

async function nextMessage<T extends ServerMessage['type']>(
  child: ChildProcess,
  type: T,
): Promise<Extract<ServerMessage, { type: T }>> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      child.off('message', hear).off('exit', gone);
    };
    const hear = (message: ServerMessage): void => {
      if (message.type !== type) return;
      stop();
      resolve(message as Extract<ServerMessage, { type: T }>);
    };
    const gone = (code: number | null): void => {
      stop();
      reject(new Error(`the server ended (${code}) before it said '${type}'`));
    };
    child.on('message', hear).on('exit', gone);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  if (child.connected) child.send({ type: 'close' });
  const cut = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
  await gone;
  clearTimeout(cut);
}
