// Writes what follows from prisma/models.prisma.in and from the migrations:
//   prisma/<provider>/schema.prisma           the three schemas
//   packages/db/src/migrations/expected.ts    names and checksums of the migrations this build needs
// `--check` writes nothing and exits 1 when a file is stale.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const providers = ['sqlite', 'postgresql', 'mysql'];

/** Native attributes per provider; a provider that is not named gets nothing. */
const words = {
  key: { mysql: '@db.VarChar(191)' },
  text: { mysql: '@db.LongText' },
  state: { mysql: '@db.VarChar(32)' },
  kind: { mysql: '@db.VarChar(16)' },
  stamp: { mysql: '@db.VarChar(64)' },
  writeId: { mysql: '@db.VarChar(255)' },
  wire: { mysql: '@db.VarChar(32)' },
  origin: { mysql: '@db.VarChar(300)' },
  status: { mysql: '@db.VarChar(16)' },
  name: { mysql: '@db.VarChar(255)' },
  phase: { mysql: '@db.VarChar(16)' },
  contentType: { mysql: '@db.VarChar(128)' },
  time: { postgresql: '@db.Timestamptz(3)', mysql: '@db.DateTime(3)' },
  now: {
    sqlite: `dbgenerated("CAST(unixepoch('subsec') * 1000 AS INTEGER)")`,
    postgresql: 'dbgenerated("clock_timestamp()")',
    mysql: 'dbgenerated("CURRENT_TIMESTAMP(3)")',
  },
};

function wordFor(provider) {
  return (match, word) => {
    if (!(word in words)) throw new Error(`prisma/models.prisma.in: unknown word ${match}`);
    return words[word][provider] ?? '';
  };
}

function modelsFor(provider, source) {
  return source
    .replace(/^\/\/(?!\/).*\n/gm, '') // the head comment speaks of the template
    .split('\n')
    .flatMap((line) => {
      const only = / *\/\/only (.*)$/.exec(line);
      if (only && !only[1].split(' ').includes(provider)) return [];
      const kept = only ? line.slice(0, only.index) : line;
      return [kept.replace(/\$(\w+)/g, wordFor(provider)).trimEnd()];
    })
    .join('\n')
    .trim();
}

function schemaFor(provider, source) {
  return `// Written by scripts/schemas.mjs from prisma/models.prisma.in: do not edit.

generator client {
  provider            = "prisma-client"
  output              = "../../packages/db/src/generated/${provider}"
  moduleFormat        = "esm"
  importFileExtension = "js"
}

datasource db {
  provider = "${provider}"
}

${modelsFor(provider, source)}
`;
}

/** Prisma's own checksum of a migration: SHA-256 of the file as it is. */
function migrationsOf(provider) {
  const folder = path.join(root, 'prisma', provider, 'migrations');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(path.join(folder, name, 'migration.sql'));
      return { name, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

function expectedText() {
  const list = (provider) =>
    migrationsOf(provider)
      .map(({ name, checksum }) => `    {\n      name: '${name}',\n      checksum: '${checksum}',\n    },\n`)
      .join('');
  const lists = providers.map((provider) => `  ${provider}: [\n${list(provider)}  ],\n`).join('');
  return `// Written by scripts/schemas.mjs from prisma/<provider>/migrations: do not edit.
import type { ExpectedMigrations } from './compare-migrations.js';

/**
 * The migrations this build was made for, per provider, in the order in which they are applied. The checksum is
 * the one that Prisma stores: SHA-256 of \`migration.sql\`, in hex.
 */
export const expectedMigrations: ExpectedMigrations = {
${lists}};
`;
}

function outputs() {
  const source = readFileSync(path.join(root, 'prisma/models.prisma.in'), 'utf8');
  const schemas = providers.map((provider) => [
    `prisma/${provider}/schema.prisma`,
    schemaFor(provider, source),
  ]);
  return [...schemas, ['packages/db/src/migrations/expected.ts', expectedText()]];
}

function main() {
  const check = process.argv.includes('--check');
  for (const [name, text] of outputs()) {
    const file = path.join(root, name);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    if (check) {
      process.stderr.write(`${name} is stale: run node scripts/schemas.mjs\n`);
      process.exitCode = 1;
      continue;
    }
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    process.stdout.write(`wrote ${name}\n`);
  }
}

main();
