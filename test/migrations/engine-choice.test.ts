import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';

type Environment = Record<string, string | undefined>;
const { chooseEngine } = (await import(`${workspaceRoot}scripts/schema-engine/choose.mjs`)) as {
  chooseEngine(options: { root: string; env: Environment }): string;
};

describe('the schema engine', () => {
  let root: string;
  const enginesFolder = () => path.join(root, 'node_modules/@prisma/engines');

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'a2a-engine-'));
    for (const name of ['prisma', '@prisma/engines']) {
      const folder = path.join(root, 'node_modules', name);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
    }
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  test('is the stand-in where there is no native one', () => {
    const env: Environment = {};
    expect(chooseEngine({ root, env })).toBe('stand-in');
    expect(env['PRISMA_SCHEMA_ENGINE_BINARY']).toBe(path.join(root, 'scripts/schema-engine/main.mjs'));
  });

  test('is the native one where it lies beside the engines package', async () => {
    await writeFile(path.join(enginesFolder(), 'schema-engine-debian-openssl-3.0.x'), '');
    const env: Environment = {};
    expect(chooseEngine({ root, env })).toBe('native');
    expect(env).toEqual({});
  });

  test('is the stand-in all the same where that is asked for', async () => {
    await writeFile(path.join(enginesFolder(), 'schema-engine-windows.exe'), '');
    expect(chooseEngine({ root, env: { PRISMA_ENGINE: 'stand-in' } })).toBe('stand-in');
  });

  test('is left to the command line where the native one is asked for', () => {
    const env: Environment = { PRISMA_ENGINE: 'native' };
    expect(chooseEngine({ root, env })).toBe('native');
    expect(env).toEqual({ PRISMA_ENGINE: 'native' });
  });

  test('is the given one before all else', () => {
    const env: Environment = { PRISMA_SCHEMA_ENGINE_BINARY: '/opt/engine', PRISMA_ENGINE: 'stand-in' };
    expect(chooseEngine({ root, env })).toBe('given');
    expect(env['PRISMA_SCHEMA_ENGINE_BINARY']).toBe('/opt/engine');
  });
});
