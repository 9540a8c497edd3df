import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { queryDatabase } from './database-query.js';
import { identityOfUser } from './owned.js';
import { freePort, tempFolder } from './processes.js';
import { findProgram } from './programs.js';
import { serverProcess } from './server-process.js';

/** What {@link startPgBouncer} is told. */
export interface PgBouncerOptions {
  /** The database behind it. Its user must be let in without a password, or with that of the URL. */
  readonly url: string;
  /** Default `transaction`, where a connection is lent for one transaction. */
  readonly poolMode?: 'transaction' | 'session';
  /** Connections to the server, by default 20. */
  readonly poolSize?: number;
  /** Further settings of the section `[pgbouncer]`, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A pooler in front of a PostgreSQL database. */
export interface PgBouncer {
  readonly port: number;
  /** The URL given, by way of the pooler. */
  readonly url: string;
  pid(): number;
  /** Ends it as by a crash. Does nothing when it is down. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and deletes its folder. A second call does nothing. */
  remove(): Promise<void>;
}

const USER = 'postgres';

/** Which package is missing for {@link startPgBouncer}, or null. */
export function missingPgBouncer(): string | null {
  if (findProgram('pgbouncer') === null) return 'pgbouncer (Debian package pgbouncer)';
  if (process.getuid?.() === 0 && identityOfUser(USER) === null)
    return `a user ${USER}: root may not run PgBouncer`;
  return null;
}

/** Starts a pooler. By default it refuses the start parameter `options`, as one does that nobody has configured. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const missing = missingPgBouncer();
  if (missing !== null) throw new Error(`missing: ${missing}`);
  const folder = tempFolder('pgbouncer', USER);
  try {
    const port = await freePort();
    const file = path.join(folder.path, 'pgbouncer.ini');
    writeFileSync(file, configuration({ options, port, folder: folder.path }), { mode: 0o644 });
    const through = new URL(options.url);
    through.hostname = '127.0.0.1';
    through.port = String(port);
    const url = through.toString();
    const bare = new URL(url);
    bare.search = '';
    const server = serverProcess(
      'PgBouncer',
      {
        command: findProgram('pgbouncer') as string,
        args: [file],
        user: USER,
        endsBy: 'SIGKILL',
        log: path.join(folder.path, 'log'),
      },
      () => queryDatabase(bare.toString(), 'SELECT 1'),
    );
    await server.start();
    const stop = (): Promise<void> => server.stop('SIGKILL');
    const remove = async (): Promise<void> => {
      await stop();
      folder.remove();
    };
    return { port, url, pid: server.pid, start: server.start, stop, remove };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

function configuration(pooler: {
  readonly options: PgBouncerOptions;
  readonly port: number;
  readonly folder: string;
}): string {
  const { options, port, folder } = pooler;
  const target = new URL(options.url);
  const server = {
    host: target.hostname,
    port: target.port || '5432',
    user: decodeURIComponent(target.username),
    ...(target.password ? { password: decodeURIComponent(target.password) } : {}),
  };
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: folder,
    auth_type: 'any',
    pool_mode: options.poolMode ?? 'transaction',
    default_pool_size: String(options.poolSize ?? 20),
    max_client_conn: '500',
    // A server that is away is tried again soon, not after the 15 s of the default.
    server_login_retry: '1',
    ...options.settings,
  };
  const quoted = Object.entries(server).map(([name, value]) => `${name}='${value.replaceAll("'", "''")}'`);
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return ['[databases]', `* = ${quoted.join(' ')}`, '[pgbouncer]', ...lines, ''].join('\n');
}
