import { execFile } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { queryDatabase } from './database-query.js';
import { identityOf, identityOfUser } from './owned.js';
import { freePort, tempFolder, until, type TempFolder } from './processes.js';
import { findProgram, versionFolders } from './programs.js';
import { serverProcess, type ServerProcess } from './server-process.js';
import { createStepClock, missingStepClock, type StepClock } from './step-clock.js';

/** How a server is ended: `fast` in good order, `immediate` as by a crash. */
export type HowToStop = 'fast' | 'immediate';

/** What {@link startPrivatePostgres} is told. */
export interface PrivatePostgresOptions {
  /** Whether its clock can be stepped. */
  readonly fakeClock?: boolean;
  /** Default false: what is committed outlives the server, not a power cut, which no scenario is about. */
  readonly fsync?: boolean;
  /** Further settings, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL server that may be broken: nobody else uses it. */
export interface PrivatePostgres {
  readonly host: '127.0.0.1';
  /** The same after every restart. */
  readonly port: number;
  /** The superuser's URL of a database, by default `postgres`. */
  url(database?: string): string;
  /** The process of the server, 0 while it is stopped. */
  pid(): number;
  /** Resolves when it is down. Does nothing when it is. */
  stop(how?: HowToStop): Promise<void>;
  /** Resolves when it answers. Does nothing when it runs. */
  start(): Promise<void>;
  restart(how?: HowToStop): Promise<void>;
  /** Runs SQL as superuser, one statement after another, then reloads the settings: for ALTER SYSTEM. */
  set(...sql: readonly string[]): Promise<void>;
  /** Steps its clock, for sessions that are open too. @throws unless started with `fakeClock`. */
  stepClock(ms: number): void;
  /** Makes a second server that follows this one by streaming; `promote()` makes it a primary of its own. */
  standby(): Promise<PrivateStandby>;
  /** Ends it and its standbys and deletes their folders. A second call does nothing. */
  remove(): Promise<void>;
}

/** A server that follows another one. */
export interface PrivateStandby extends PrivatePostgres {
  /** Waits until it has all that the primary has written by now. */
  caughtUp(): Promise<void>;
  /** Makes it a primary: resolves when it takes writes. */
  promote(): Promise<void>;
}

const run = promisify(execFile);
const START_MS = 30_000;
const USER = 'postgres';
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

function program(name: string): string | null {
  return findProgram(name, versionFolders('/usr/lib/postgresql', 'bin'));
}

/** Which package is missing for a private server, or null. */
export function missingPostgres(options: PrivatePostgresOptions = {}): string | null {
  for (const name of ['initdb', 'postgres', 'pg_basebackup'])
    if (program(name) === null) return `${name} (Debian package postgresql)`;
  if (process.getuid?.() === 0 && identityOfUser(USER) === null)
    return `a user ${USER}: root may not run PostgreSQL`;
  return options.fakeClock ? missingStepClock() : null;
}

/** Runs one of PostgreSQL's programs as the user of the server. */
async function runTool(name: string, args: readonly string[]): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
  await run(program(name) as string, [...args], { ...identityOf(USER), env, cwd: '/' });
}

/** Makes and starts a server of its own in a temporary folder. Takes some 2 s. */
export async function startPrivatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
  const missing = missingPostgres(options);
  if (missing !== null) throw new Error(`missing: ${missing}`);
  return createServer(options, (data) =>
    runTool('initdb', ['-D', data, '-N', '-U', USER, '-A', 'trust', '--locale=C', '-E', 'UTF8']),
  );
}

async function createServer(
  options: PrivatePostgresOptions,
  fill: (data: string) => Promise<void>,
): Promise<Server> {
  const folder = tempFolder('postgres', USER);
  try {
    const clock = options.fakeClock ? createStepClock(folder.path) : null;
    await fill(path.join(folder.path, 'data'));
    const server = new Server({ folder, port: await freePort(), options, clock });
    await server.start();
    return server;
  } catch (error) {
    // A server that did not start has been ended by then.
    folder.remove();
    throw error;
  }
}

interface ServerParts {
  readonly folder: TempFolder;
  readonly port: number;
  readonly options: PrivatePostgresOptions;
  readonly clock: StepClock | null;
}

class Server implements PrivatePostgres {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #parts: ServerParts;
  readonly #standbys: PrivatePostgres[] = [];
  readonly #process: ServerProcess;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.port = parts.port;
    const { folder, clock } = parts;
    const command = {
      command: program('postgres') as string,
      args: ['-D', path.join(folder.path, 'data'), ...this.#settings()],
      env: { LC_ALL: 'C', ...clock?.env },
      user: USER,
      // To SIGKILL its children would outlive it for a moment.
      endsBy: 'SIGQUIT' as const,
      log: path.join(folder.path, 'log'),
    };
    this.#process = serverProcess('PostgreSQL', command, () => queryDatabase(this.url(), 'SELECT 1'));
  }

  url(database = 'postgres'): string {
    return `postgresql://${USER}@${this.host}:${this.port}/${database}`;
  }

  pid(): number {
    return this.#process.pid();
  }

  start(): Promise<void> {
    return this.#process.start();
  }

  stop(how: HowToStop = 'fast'): Promise<void> {
    return this.#process.stop(SIGNALS[how]);
  }

  async restart(how: HowToStop = 'fast'): Promise<void> {
    await this.stop(how);
    await this.start();
  }

  async set(...sql: readonly string[]): Promise<void> {
    // One by one: ALTER SYSTEM may not stand in a transaction, and a text of several statements is one.
    await queryDatabase(this.url(), ...sql, 'SELECT pg_reload_conf()');
  }

  stepClock(ms: number): void {
    const { clock } = this.#parts;
    if (clock === null) throw new Error('its clock cannot be stepped: start it with { fakeClock: true }');
    clock.step(ms);
  }

  async standby(): Promise<PrivateStandby> {
    const backup = async (data: string): Promise<void> => {
      await runTool('pg_basebackup', [
        '-R',
        '-c',
        'fast',
        '-X',
        'stream',
        '-N',
        '-D',
        data,
        '-d',
        this.url(),
      ]);
      chmodSync(data, 0o700);
    };
    const server = await createServer({ ...this.#parts.options, fakeClock: false }, backup);
    this.#standbys.push(server);
    return Object.assign(server, {
      caughtUp: async (): Promise<void> => {
        const [row] = await queryDatabase(this.url(), 'SELECT pg_current_wal_flush_lsn()::text AS lsn');
        const there = async (): Promise<boolean> => {
          const ask = `SELECT pg_last_wal_replay_lsn() >= '${String(row?.['lsn'])}'::pg_lsn AS there`;
          return (await queryDatabase(server.url(), ask))[0]?.['there'] === true;
        };
        await until(there, { what: 'the standby to catch up', withinMs: START_MS });
      },
      promote: async (): Promise<void> =>
        void (await queryDatabase(server.url(), 'SELECT pg_promote(true, 30)')),
    });
  }

  async remove(): Promise<void> {
    await Promise.all(this.#standbys.map((standby) => standby.remove()));
    await this.stop('immediate');
    if (existsSync(this.#parts.folder.path)) this.#parts.folder.remove();
  }

  /** On the command line, so that ALTER SYSTEM cannot break them, except what the caller sets: that must be his. */
  #settings(): string[] {
    const { folder, options } = this.#parts;
    const fixed = {
      port: String(this.port),
      listen_addresses: this.host,
      unix_socket_directories: folder.path,
      max_connections: '200',
      fsync: options.fsync ? 'on' : 'off',
      shared_buffers: '32MB',
      ...options.settings,
    };
    return Object.entries(fixed).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  }
}
