import type { Database } from './database.js';
import { providerOf, type DatabaseOptions } from './database-options.js';

/**
 * Opens a database. Connects lazily: {@link Database.check} is what says whether it can be used.
 * The driver of the other providers is never loaded.
 */
export async function createDatabase(options: DatabaseOptions): Promise<Database> {
  switch (providerOf(options.url)) {
    case 'sqlite':
      return (await import('./sqlite/database.js')).createSqliteDatabase(options);
    case 'postgresql':
      return (await import('./postgresql/database.js')).createPostgresDatabase(options);
    case 'mysql':
      return (await import('./mysql/database.js')).createMysqlDatabase(options);
  }
}
