import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';

// These run the command as users do, so they need the build that `npm test` makes before it runs the tests.
const app = path.resolve(import.meta.dirname, '..');
const program = path.join(app, 'bin/clustermode.js');
const running = new Set<ChildProcess>();

/** A command that runs. */
export interface Run {
  readonly child: ChildProcess;
  /** Standard output so far. */
  out(): string;
  /** Standard error so far. */
  err(): string;
  readonly ended: Promise<number | string>;
  /** Resolves with the match once standard output has it; rejects when the command ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Where commands run. */
export interface Surroundings {
  readonly folder: string;
  readonly databaseUrl: string;
}

/** Fails without a build. */
export function needBuild(): void {
  if (!existsSync(path.join(app, 'dist/main.js'))) throw new Error('run `npm run build` first');
}

/** Kills what still runs. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** Starts commands. */
export type Start = (words: readonly string[], env?: Readonly<Record<string, string>>) => Run;

/** Starts commands there. */
export function starter(surroundings: () => Surroundings): Start {
  return (words, env = {}) => start(words, env, surroundings());
}

function start(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  { folder, databaseUrl }: Surroundings,
): Run {
  const child = spawn(process.execPath, [program, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let out = '';
  let err = '';
  const waiting = new Set<() => void>();
  const wake = (): void => waiting.forEach((look) => look());
  child.stdout.on('data', (chunk) => ((out += chunk), wake()));
  child.stderr.on('data', (chunk) => (err += chunk));
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? 'unknown');
      wake();
    });
  });
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(out);
        if (match !== null) resolve(match);
        else if (!running.has(child))
          reject(new Error(`it ended before it said ${String(pattern)}:\n${out}${err}`));
      };
      waiting.add(look);
      look();
    });
  return { child, out: () => out, err: () => err, ended, said };
}

/** The address of a replica once it listens. */
export async function listening(run: Run): Promise<string> {
  const [, port] = await run.said(/"port":(\d+),[^\n]*"msg":"listening"/);
  return `http://127.0.0.1:${port}`;
}

/** A port that is free, and most likely the one after it too. */
export async function freePorts(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return Math.min(port, 60_000);
}
