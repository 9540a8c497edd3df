import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClusterError, type ClusterErrorCode } from '@a2a-cluster/core';
import { absoluteDatabaseUrl } from './database-url.js';

/** What {@link deployMigrations} is told. */
export interface DeployOptions {
  /** `file:` paths count from the working directory. */
  readonly databaseUrl: string;
  /**
   * The environment of the command (proxy, certificates, `PRISMA_SCHEMA_ENGINE_BINARY`). `DATABASE_URL` in it is
   * overridden. Default: nothing at all.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** When to give up and end the command. Default 120 000. */
  readonly timeoutMs?: number;
}

/** What {@link deployMigrations} answers. */
export interface DeployResult {
  /** Names of the migrations that this call applied; empty when there was nothing to do. */
  readonly applied: readonly string[];
}

/** The workspace's root: the same from `src` and from `dist`. Prisma reads its configuration there. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));

function commandLine(): string {
  try {
    const manifest = createRequire(path.join(root, 'package.json')).resolve('prisma/package.json');
    return path.join(path.dirname(manifest), 'build', 'index.js');
  } catch (cause) {
    const message = `Prisma's command line is not installed in ${root}; migrate with \`npx prisma migrate deploy\` where it is.`;
    throw new ClusterError('CONFIG_INVALID', message, { cause });
  }
}

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

function run(options: DeployOptions): Promise<Outcome> {
  const child = spawn(process.execPath, [commandLine(), 'migrate', 'deploy'], {
    cwd: root,
    env: {
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      NO_COLOR: '1',
      ...options.environment,
      DATABASE_URL: absoluteDatabaseUrl(options.databaseUrl),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.timeoutMs ?? 120_000,
  });
  let output = '';
  const keep = (text: string) => (output += text);
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

function codeOf(output: string): ClusterErrorCode {
  if (/\bP3005\b/.test(output)) return 'SCHEMA_FOREIGN';
  return /\bP100[01]\b/.test(output) ? 'DATABASE_UNREACHABLE' : 'STORE_FAULT';
}

/** From `Error` on: what stands before it only says which files were read. */
function reasonIn(output: string): string {
  const at = output.search(/^(Error|Failed)/m);
  return (at < 0 ? output : output.slice(at)).trim();
}

/**
 * Runs `prisma migrate deploy` for a database: creates it if it is missing, applies what is missing, changes nothing
 * where all is there. Two callers at once are safe, one of them does the work. Takes some seconds.
 * @throws `ClusterError` `SCHEMA_FOREIGN` (another application lives there, nothing was changed),
 * `DATABASE_UNREACHABLE`, `CONFIG_INVALID` (no command line here) or `STORE_FAULT`, with the command's own words.
 */
export async function deployMigrations(options: DeployOptions): Promise<DeployResult> {
  const { code, output } = await run(options);
  if (code !== 0) {
    const reason = code === null ? 'it took too long and was ended' : reasonIn(output);
    throw new ClusterError(codeOf(output), `The migrations were not deployed: ${reason}`, {
      details: { exitCode: code },
    });
  }
  const applied = [...output.matchAll(/└─ (\d\w*)\/$/gm)].map(([, name]) => name ?? '');
  return { applied };
}
