import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../benchmark.js';

/** What every message of a child has. */
interface Typed {
  readonly type: string;
}

/** A process that was started; `Says` are its messages, `Hears` what it is sent. */
export interface Child<Says extends Typed, Hears extends Typed> {
  send(command: Hears): void;
  /** The next message of this type; rejects when the process ends before it. */
  next<T extends Says['type']>(type: T): Promise<Extract<Says, { readonly type: T }>>;
  /** Sends a command and waits for what it is answered with. */
  ask<T extends Says['type']>(command: Hears, type: T): Promise<Extract<Says, { readonly type: T }>>;
  /** Ends the process as a crash would. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends the process, cleanly: it is sent `close`. A second call does nothing. */
  close(): Promise<void>;
}

/** Which process. */
export interface ChildOptions {
  /** A file of `servers`, without its ending. */
  readonly main: string;
  /** Names its CPU profile. */
  readonly name: string;
  /** Handed over as JSON. */
  readonly settings: object;
}

const CLOSE_MS = 10_000;
let started = 0;

/** Starts a process. The benchmark's clean-up ends it. */
export function startChild<Says extends Typed, Hears extends Typed>(
  context: Pick<BenchContext, 'profileFolder' | 'cleanUp'>,
  { main, name, settings }: ChildOptions,
): Child<Says, Hears> {
  const { profileFolder } = context;
  started += 1;
  const profile = `${name}-${process.pid}-${started}.cpuprofile`;
  const profiling =
    profileFolder === null
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=${profile}`];
  const child = fork(
    fileURLToPath(new URL(`../servers/${main}.js`, import.meta.url)),
    [...[JSON.stringify(settings)]],
    {
      execArgv: [...profiling, '--expose-gc'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  const gone = once(child, 'exit');
  const next: Child<Says, Hears>['next'] = (type) =>
    new Promise((resolve, reject) => {
      const stop = (): void => void child.off('message', hear).off('exit', ended);
      const hear = (message: Says): void => {
        if (message.type !== type) return;
        stop();
        resolve(message as Extract<Says, { readonly type: typeof type }>);
      };
      const ended = (code: number | null): void => {
        stop();
        reject(new Error(`the ${name} ended (${code}) before it said '${type}'`));
      };
      child.on('message', hear).on('exit', ended);
    });
  const send = (command: Hears): void => void child.send(command);
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const end = async (): Promise<void> => {
    if (isGone()) return;
    if (child.connected) child.send({ type: 'close' });
    const cut = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
    await gone;
    clearTimeout(cut);
  };
  const closing = { done: null as Promise<void> | null };
  const close = (): Promise<void> => (closing.done ??= end());
  context.cleanUp(close);
  return {
    send,
    next,
    ask: (command, type) => {
      const answer = next(type);
      send(command);
      return answer;
    },
    kill: async () => {
      if (!isGone()) child.kill('SIGKILL');
      await gone;
    },
    close,
  };
}
