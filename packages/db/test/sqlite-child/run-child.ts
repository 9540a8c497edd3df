import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { jobs } from './jobs.js';

const main = fileURLToPath(new URL('./main.mjs', import.meta.url));

/** A process that runs one job of jobs.ts. */
export interface Child {
  readonly process: ChildProcess;
  /** Resolves when the child has written this line. */
  said(line: string): Promise<void>;
  /** The job's answer; rejects when the child failed. */
  readonly answer: Promise<unknown>;
}

/** Starts a job in a process of its own; `limitKiB` is the largest file it may write. */
export function startChild(
  job: keyof typeof jobs,
  argument: object,
  options: { readonly limitKiB?: number } = {},
): Child {
  const command = [process.execPath, main, job, JSON.stringify(argument)];
  const limit = options.limitKiB;
  const child =
    limit === undefined
      ? spawn(command[0] ?? '', command.slice(1))
      : spawn('bash', ['-c', `ulimit -f ${limit}; exec "$@"`, 'bash', ...command]);
  const lines: string[] = [];
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const exited = once(child, 'close');
  const answer = exited.then(([code]: unknown[]) => {
    if (code !== 0) throw new Error(`the child ended with ${String(code)}: ${errors}`);
    return JSON.parse(lines.at(-1) ?? 'null') as unknown;
  });
  // A test that kills the child does not ask for its answer.
  answer.catch(() => {});
  return {
    process: child,
    said: async (line) => {
      while (!lines.includes(line)) {
        const ended = await Promise.race([once(reader, 'line').then(() => false), exited.then(() => true)]);
        if (ended && !lines.includes(line)) throw new Error(`the child never said ${line}: ${errors}`);
      }
    },
    answer,
  };
}
