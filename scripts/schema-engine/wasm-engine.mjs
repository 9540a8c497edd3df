// Prisma's own engine, compiled to wasm, for SQLite and PostgreSQL.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { postgresFactory, sqliteFactory } from './wasm-adapters.mjs';

const require = createRequire(import.meta.url);

async function loadRuntime() {
  const name = '@prisma/schema-engine-wasm/schema_engine_bg';
  const runtime = await import(name);
  const file = path.join(path.dirname(require.resolve(name)), 'schema_engine_bg.wasm');
  const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), {
    './schema_engine_bg.js': runtime,
  });
  runtime.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return runtime;
}

/**
 * @param {{ dialect: 'sqlite' | 'postgresql', databaseUrl: string, datamodels: [string, string][], offline: boolean }} options
 * @returns the engine, and a look-up of what really happened behind an error that the wasm code only numbers
 */
export async function createWasmEngine({ dialect, databaseUrl, datamodels, offline }) {
  const { bindMigrationAwareSqlAdapterFactory } = require('@prisma/driver-adapter-utils');
  const factory =
    dialect === 'sqlite'
      ? await sqliteFactory(offline ? undefined : databaseUrl)
      : postgresFactory(databaseUrl, { offline });
  const bound = bindMigrationAwareSqlAdapterFactory(factory);
  const runtime = await loadRuntime();
  const models = datamodels.length > 0 ? { datamodels } : {};
  const engine = await runtime.SchemaEngine.new(models, () => {}, bound);
  const causeOf = (error) => {
    const id = /External error id#(\d+)/.exec(String(error.message))?.[1];
    return id ? bound.errorRegistry.consumeError(Number(id))?.error : undefined;
  };
  return { engine, causeOf };
}
