import { execFile } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { queryDatabase } from './database-query.js';
import { identityOf, identityOfUser } from './owned.js';
import { freePort, tempFolder, type TempFolder } from './processes.js';
import { findProgram } from './programs.js';
import { serverProcess } from './server-process.js';
import { createStepClock, missingStepClock } from './step-clock.js';

/** What {@link startPrivateMariadb} is told. */
export interface PrivateMariadbOptions {
  /** Whether its clock can be stepped. */
  readonly fakeClock?: boolean;
  /** Further options, by name, without dashes in front. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A MariaDB server that may be broken: nobody else uses it. */
export interface PrivateMariadb {
  readonly host: '127.0.0.1';
  /** The same after every restart. */
  readonly port: number;
  /** The URL of a database for root, by default `mysql`. */
  url(database?: string): string;
  /** The process of the server, 0 while it is stopped. */
  pid(): number;
  /** `immediate`: by SIGKILL, as by a crash; `fast`: in good order. Resolves when it is down. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** Resolves when it answers. Does nothing when it runs. */
  start(): Promise<void>;
  restart(how?: 'fast' | 'immediate'): Promise<void>;
  /** Runs SQL as root, one statement after another: for SET GLOBAL, which is forgotten by a restart. */
  set(...sql: readonly string[]): Promise<void>;
  /** Steps its clock, for sessions that are open too. @throws unless started with `fakeClock`. */
  stepClock(ms: number): void;
  /** Ends it and deletes its folder. A second call does nothing. */
  remove(): Promise<void>;
}

const run = promisify(execFile);
const USER = 'mysql';

/** Which package is missing for a private server, or null. */
export function missingMariadb(options: PrivateMariadbOptions = {}): string | null {
  for (const name of ['mariadb-install-db', 'mariadbd'])
    if (findProgram(name) === null) return `${name} (Debian package mariadb-server)`;
  if (process.getuid?.() === 0 && identityOfUser(USER) === null) return `a user ${USER} to run MariaDB as`;
  return options.fakeClock ? missingStepClock() : null;
}

/** Makes and starts a server of its own in a temporary folder. Takes some 3 s. */
export async function startPrivateMariadb(options: PrivateMariadbOptions = {}): Promise<PrivateMariadb> {
  const missing = missingMariadb(options);
  if (missing !== null) throw new Error(`missing: ${missing}`);
  const folder = tempFolder('mariadb', USER);
  try {
    await install(folder);
    const server = await createServer(folder, options);
    await server.start();
    return server;
  } catch (error) {
    // A server that did not start has been ended by then.
    folder.remove();
    throw error;
  }
}

async function install(folder: TempFolder): Promise<void> {
  const args = ['--no-defaults', `--datadir=${path.join(folder.path, 'data')}`, '--skip-name-resolve'];
  const fast = [
    '--innodb-log-file-size=16M',
    '--innodb-flush-log-at-trx-commit=0',
    '--aria-log-purge-type=at_flush',
  ];
  await run(
    findProgram('mariadb-install-db') as string,
    [...args, '--auth-root-authentication-method=normal', '--skip-test-db', '--force', ...fast],
    { ...identityOf(USER), env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' }, cwd: folder.path },
  );
  // Without names of hosts, root@localhost is the socket alone.
  const init = path.join(folder.path, 'init.sql');
  writeFileSync(
    init,
    "CREATE USER IF NOT EXISTS root@'127.0.0.1'; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n",
  );
  const { uid, gid } = identityOf(USER);
  if (uid !== undefined && gid !== undefined) chownSync(init, uid, gid);
}

async function createServer(folder: TempFolder, options: PrivateMariadbOptions): Promise<PrivateMariadb> {
  const clock = options.fakeClock ? createStepClock(folder.path) : null;
  const host = '127.0.0.1';
  const port = await freePort();
  const url = (database = 'mysql'): string => `mysql://root@${host}:${port}/${database}`;
  const command = {
    command: findProgram('mariadbd') as string,
    args: argumentsOf({ folder, port, options }),
    env: { LC_ALL: 'C', ...clock?.env },
    user: USER,
    endsBy: 'SIGKILL' as const,
    log: path.join(folder.path, 'log'),
  };
  const server = serverProcess('MariaDB', command, () => queryDatabase(url(), 'SELECT 1'));
  const stop = (how: 'fast' | 'immediate' = 'fast'): Promise<void> =>
    server.stop(how === 'fast' ? 'SIGTERM' : 'SIGKILL');
  return {
    host,
    port,
    url,
    pid: server.pid,
    stop,
    start: server.start,
    async restart(how = 'fast') {
      await stop(how);
      await server.start();
    },
    set: async (...sql) => void (await queryDatabase(url(), ...sql)),
    stepClock(ms) {
      if (clock === null) throw new Error('its clock cannot be stepped: start it with { fakeClock: true }');
      clock.step(ms);
    },
    async remove() {
      await stop('immediate');
      folder.remove();
    },
  };
}

function argumentsOf(server: {
  readonly folder: TempFolder;
  readonly port: number;
  readonly options: PrivateMariadbOptions;
}): string[] {
  const { folder, port, options } = server;
  const settings = {
    datadir: path.join(folder.path, 'data'),
    socket: path.join(folder.path, 'socket'),
    'pid-file': path.join(folder.path, 'pid'),
    'bind-address': '127.0.0.1',
    port: String(port),
    'init-file': path.join(folder.path, 'init.sql'),
    'max-connections': '200',
    'innodb-buffer-pool-size': '64M',
    // What is committed outlives the process, not a power cut, which no scenario is about.
    'innodb-flush-log-at-trx-commit': '2',
    ...options.settings,
  };
  // --no-defaults has to be the first.
  const given = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
  return ['--no-defaults', ...given, '--skip-name-resolve', '--skip-log-bin'];
}
