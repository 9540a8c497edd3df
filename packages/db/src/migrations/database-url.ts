// A leaf on purpose: prisma.config.ts imports it before anything is built.
import path from 'node:path';

/** The three databases. MariaDB counts as `mysql`, which is Prisma's name for both. */
export type MigrationProvider = 'sqlite' | 'postgresql' | 'mysql';

/** Where the tables live when nobody says otherwise: a file below the working directory. */
export const defaultDatabaseUrl = 'file:./.data/cluster.db';

/**
 * Which database a URL means, judged by its scheme alone.
 * @throws TypeError for any other scheme. The text names the schemes, never the URL, which may carry a password.
 */
export function migrationProviderOf(databaseUrl: string): MigrationProvider {
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) return 'postgresql';
  if (/^(mysql|mariadb):\/\//.test(databaseUrl)) return 'mysql';
  if (databaseUrl.startsWith('file:')) return 'sqlite';
  throw new TypeError(
    'The database URL must start with file:, postgresql://, postgres://, mysql:// or mariadb://.',
  );
}

/**
 * The same URL with the path of a `file:` URL made absolute; every other URL comes back as it is. Relative paths
 * count from `from`, by default the working directory. The one place where that is decided: the migration command
 * and the replicas must open the same file.
 */
export function absoluteDatabaseUrl(databaseUrl: string, from: string = process.cwd()): string {
  if (!databaseUrl.startsWith('file:')) return databaseUrl;
  const [, file = '', query = ''] = /^file:(?:\/\/)?([^?]*)(\?.*)?$/.exec(databaseUrl) ?? [];
  return `file:${path.resolve(from, file)}${query}`;
}
