import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestProvider } from './providers.js';

/** One migration as it stands in prisma/<provider>/migrations. */
export interface MigrationFile {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of `sql` in hex, as Prisma stores it. */
  readonly checksum: string;
}

/** The workspace's root folder, with a slash at its end. The same from `src` and from `dist`. */
export const workspaceRoot: string = fileURLToPath(new URL('../../../', import.meta.url));

/** The migrations of a provider in the order in which they are applied. Read from disk at every call. */
export function migrationFiles(provider: TestProvider): MigrationFile[] {
  const folder = `${workspaceRoot}prisma/${provider}/migrations`;
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(`${folder}/${name}/migration.sql`, 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}
