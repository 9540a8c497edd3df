import path from 'node:path';
import { defineConfig } from 'prisma/config';
import {
  absoluteDatabaseUrl,
  defaultDatabaseUrl,
  migrationProviderOf,
} from './packages/db/src/migrations/database-url.ts';
import { chooseEngine } from './scripts/schema-engine/choose.mjs';

// This file runs before the CLI looks for its engine, so the choice can be made here (prisma/README.md).
const root = import.meta.dirname;
chooseEngine({ root, env: process.env });

const url = absoluteDatabaseUrl(process.env['DATABASE_URL'] ?? defaultDatabaseUrl);
const shadow = process.env['SHADOW_DATABASE_URL'];
const folder = path.join(root, 'prisma', process.env['PRISMA_PROVIDER'] ?? migrationProviderOf(url));

export default defineConfig({
  schema: path.join(folder, 'schema.prisma'),
  migrations: { path: path.join(folder, 'migrations') },
  // The CLI knows MariaDB by its older name only.
  datasource: {
    url: url.replace(/^mariadb:/, 'mysql:'),
    ...(shadow ? { shadowDatabaseUrl: absoluteDatabaseUrl(shadow) } : {}),
  },
});
