// Generates the three Prisma clients under packages/db/src/generated, unless they already belong to these schemas
// and this Prisma. `--force` generates anyway.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const providers = ['sqlite', 'postgresql', 'mysql'];
const output = path.join(root, 'packages/db/src/generated');

const schemaOf = (provider) => path.join(root, 'prisma', provider, 'schema.prisma');
const stampOf = (provider) => path.join(output, `${provider}.stamp`);

function fingerprint(provider) {
  const prisma = require('prisma/package.json').version;
  return createHash('sha256')
    .update(prisma)
    .update(readFileSync(schemaOf(provider)))
    .digest('hex');
}

function isCurrent(provider) {
  const client = path.join(output, provider, 'client.ts');
  if (!existsSync(client) || !existsSync(stampOf(provider))) return false;
  return readFileSync(stampOf(provider), 'utf8') === fingerprint(provider);
}

function runPrisma(provider) {
  const cli = path.join(path.dirname(require.resolve('prisma/package.json')), 'build/index.js');
  const env = {
    ...process.env,
    PRISMA_PROVIDER: provider,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  };
  const child = spawn(process.execPath, [cli, 'generate', '--schema', schemaOf(provider), '--no-hints'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`prisma generate (${provider}): ${said}`)),
    );
  });
}

async function generate(provider) {
  rmSync(stampOf(provider), { force: true });
  await runPrisma(provider);
  mkdirSync(output, { recursive: true });
  writeFileSync(stampOf(provider), fingerprint(provider));
  process.stdout.write(`generated the ${provider} client\n`);
}

const force = process.argv.includes('--force');
for (const provider of providers) {
  if (force || !isCurrent(provider)) await generate(provider);
}
