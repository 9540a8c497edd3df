import { spawn } from 'node:child_process';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';

/** How a command ended. */
export interface CommandOutcome {
  readonly code: number | null;
  /** Both streams, as they came. */
  readonly output: string;
}

/** Runs the Prisma command line in the workspace's root as a user does, with DATABASE_URL and nothing else set. */
export function runPrisma(
  databaseUrl: string,
  command: readonly string[],
  environment: Record<string, string> = {},
): Promise<CommandOutcome> {
  const cli = path.join(workspaceRoot, 'node_modules/prisma/build/index.js');
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [cli, ...command], {
    cwd: workspaceRoot,
    env: { PATH, HOME, CHECKPOINT_DISABLE: '1', NO_COLOR: '1', ...environment, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (text) => (output += String(text)));
  child.stderr.on('data', (text) => (output += String(text)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
