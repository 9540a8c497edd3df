// Before `prisma migrate deploy` with Prisma's native engine: the check that the stand-in makes by itself. The native
// engine refuses a database with tables and no ledger, but goes on beside another application's ledger.
//   node check-foreign.mjs <schema file>      the URL in DATABASE_URL, exit 1 where somebody else lives
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { dialectOf } from './connections.mjs';
import { refuseForeign } from './foreign.mjs';

const databaseUrl = process.env.DATABASE_URL;
const folder = path.join(path.dirname(process.argv[2]), 'migrations');
const ours = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d+_/.test(name)) : [];
try {
  await refuseForeign({ dialect: dialectOf(databaseUrl, ''), databaseUrl }, ours);
} catch (error) {
  // A database that is not there, or cannot be reached, is the command's to tell.
  if (error.code === 'P3005') {
    process.stderr.write(`Error: P3005\n\n${error.message}\n`);
    process.exitCode = 1;
  }
}
