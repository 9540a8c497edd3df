import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { tempFolder, type TempFolder } from '../../faults/src/tools/processes.js';
import { findProgram } from '../../faults/src/tools/programs.js';
import { serverProcess } from '../../faults/src/tools/server-process.js';
import { deployFile } from './deploy-file.js';
import type { OwnNetwork } from './own-network.js';

/** A load balancer `deploy` has a file for. */
export interface BalancerKind {
  readonly name: 'nginx' | 'haproxy' | 'caddy';
  /** Below `deploy`. */
  readonly file: string;
  /** The Debian package. */
  readonly package: string;
  /** Whether it asks `/readyz` by itself. */
  readonly asksReadiness: boolean;
  /** The whole configuration, of the file's text. */
  wrap(configuration: string, folder: string): string;
  /** Arguments that check a configuration, and that run it in one process in the foreground. */
  readonly check: (file: string, folder: string) => readonly string[];
  readonly run: (file: string, folder: string) => readonly string[];
}

/** Each of them. */
export const balancerKinds: readonly BalancerKind[] = [
  {
    name: 'nginx',
    file: 'nginx/a2a-cluster.conf',
    package: 'nginx-light',
    asksReadiness: false,
    wrap: inHttpBlock,
    check: (file, folder) => ['-t', '-p', folder, '-c', file, '-e', path.join(folder, 'errors')],
    run: (file, folder) => ['-p', folder, '-c', file, '-e', path.join(folder, 'errors')],
  },
  {
    name: 'haproxy',
    file: 'haproxy/haproxy.cfg',
    package: 'haproxy',
    asksReadiness: true,
    wrap: (configuration) => configuration,
    check: (file) => ['-c', '-f', file],
    run: (file) => ['-db', '-f', file],
  },
  {
    name: 'caddy',
    file: 'caddy/Caddyfile',
    package: 'caddy',
    asksReadiness: true,
    // No port of administration: other balancers on this machine have one.
    wrap: (configuration) => `{\n\tadmin off\n}\n${configuration}`,
    check: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
];

/** What stands around the file in `nginx.conf`. One process, so that ending it by its id ends all of it. */
function inHttpBlock(configuration: string): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 1024; }
http {
  access_log off;
  ${temp.map((each) => `${each}_temp_path temp/${each};`).join('\n  ')}
${configuration}}
`;
}

/** What is missing to run it, or null. */
export function missingBalancer(kind: BalancerKind): string | null {
  return findProgram(kind.name) === null ? `${kind.name} (Debian package ${kind.package})` : null;
}

/** A balancer that runs as `deploy` configures it. */
export interface RunningBalancer {
  /** Where clients come in, and where operators do. */
  readonly base: string;
  readonly operators: string;
  remove(): Promise<void>;
}

interface Prepared {
  readonly program: string;
  readonly folder: TempFolder;
  readonly file: string;
}

function prepare(kind: BalancerKind, network: OwnNetwork): Prepared {
  const program = findProgram(kind.name);
  if (program === null) throw new Error(`missing: ${missingBalancer(kind)}`);
  const folder = tempFolder(kind.name);
  mkdirSync(path.join(folder.path, 'temp'));
  const file = path.join(folder.path, path.basename(kind.file));
  writeFileSync(file, kind.wrap(network.rewrite(deployFile(kind.file)), folder.path));
  return { program, folder, file };
}

/** Lets the program itself judge the file; rejects with its words. */
export async function checkBalancer(kind: BalancerKind, network: OwnNetwork): Promise<void> {
  const { program, folder, file } = prepare(kind, network);
  try {
    await promisify(execFile)(program, [...kind.check(file, folder.path)], { env: ownHome(folder) });
  } finally {
    folder.remove();
  }
}

/** Starts it and waits until a request comes through. */
export async function startBalancer(kind: BalancerKind, network: OwnNetwork): Promise<RunningBalancer> {
  const { program, folder, file } = prepare(kind, network);
  const base = `http://${network.balancer}:8080`;
  const server = serverProcess(
    kind.name,
    {
      command: program,
      args: kind.run(file, folder.path),
      env: ownHome(folder),
      endsBy: 'SIGTERM',
      log: path.join(folder.path, 'log'),
    },
    async () => {
      const answer = await fetch(`${base}/livez`);
      await answer.text();
      if (answer.status !== 200) throw new Error(String(answer.status));
    },
  );
  try {
    await server.start();
  } catch (error) {
    folder.remove();
    throw error;
  }
  return {
    base,
    operators: `http://${network.balancer}:8081`,
    async remove() {
      await server.stop('SIGKILL');
      folder.remove();
    },
  };
}

/** Caddy keeps files below the home folder. */
function ownHome(folder: TempFolder): Record<string, string> {
  const PATH = process.env['PATH'] ?? '';
  return { PATH, HOME: folder.path, XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path };
}
