// Which schema engine the Prisma CLI is to run. Read by prisma.config.ts, which the CLI loads before it looks for one.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The file the CLI would use, if somebody has put or fetched it beside `@prisma/engines`. */
function hasNativeEngine(root) {
  try {
    const cli = createRequire(path.join(root, 'package.json')).resolve('prisma/package.json');
    const engines = createRequire(cli).resolve('@prisma/engines/package.json');
    return readdirSync(path.dirname(engines)).some(
      (name) => /^schema-engine-[\w.-]+$/.test(name) && !name.endsWith('.gz'),
    );
  } catch {
    return false;
  }
}

/**
 * Leaves PRISMA_SCHEMA_ENGINE_BINARY alone where it is set, or where the native engine is there or asked for by
 * PRISMA_ENGINE=native (the CLI then fetches it in its own way, and may wait for its host). Points it at the
 * stand-in otherwise, so that nothing is ever downloaded unasked.
 * @param {{ root: string, env: Record<string, string | undefined> }} options
 * @returns {'given' | 'native' | 'stand-in'}
 */
export function chooseEngine({ root, env }) {
  if (env.PRISMA_SCHEMA_ENGINE_BINARY) return 'given';
  if (env.PRISMA_ENGINE === 'native') return 'native';
  if (env.PRISMA_ENGINE !== 'stand-in' && hasNativeEngine(root)) return 'native';
  env.PRISMA_SCHEMA_ENGINE_BINARY = path.join(root, 'scripts/schema-engine/main.mjs');
  return 'stand-in';
}
