import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { defineConfig } from 'prisma/config';
import {
  absoluteDatabaseUrl,
  defaultDatabaseUrl,
  migrationProviderOf,
} from './packages/db/src/migrations/database-url.ts';
import { chooseEngine } from './scripts/schema-engine/choose.mjs';

// The CLI reads this file before it looks for its engine, so the engine can be chosen here (prisma/README.md).
const root = import.meta.dirname;
const engine = chooseEngine({ root, env: process.env });

const given = absoluteDatabaseUrl(process.env['DATABASE_URL'] ?? defaultDatabaseUrl);
// The CLI knows MariaDB by its older name only.
const url = given.replace(/^mariadb:/, 'mysql:');
const shadow = process.env['SHADOW_DATABASE_URL'];
const folder = path.join(root, 'prisma', process.env['PRISMA_PROVIDER'] ?? migrationProviderOf(url));
const schema = path.join(folder, 'schema.prisma');

// The stand-in looks for another application's tables itself; for any other engine it is done before it starts.
if (engine !== 'stand-in' && process.argv.includes('migrate') && process.argv.includes('deploy')) {
  const check = path.join(root, 'scripts/schema-engine/check-foreign.mjs');
  const env = { ...process.env, DATABASE_URL: url };
  const { status } = spawnSync(process.execPath, [check, schema], { env, stdio: 'inherit', timeout: 30_000 });
  if (status === 1) process.exit(1);
}

export default defineConfig({
  schema,
  migrations: { path: path.join(folder, 'migrations') },
  datasource: { url, ...(shadow ? { shadowDatabaseUrl: absoluteDatabaseUrl(shadow) } : {}) },
});
