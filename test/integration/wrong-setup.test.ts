import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { availableProviders, createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { freePort, spawnReplica, type ReplicaProcess } from './support/replica-process.js';

/** The configuration, or the database's schema, has to be changed before a start can succeed. */
const EXIT_CONFIG = 78;

const open: TestDatabase[] = [];

async function database(options: Parameters<typeof createTestDatabase>[0]): Promise<TestDatabase> {
  const made = await createTestDatabase(options);
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const made of open.splice(0)) await made.drop();
});

/** Starts a replica that is to fail: what it said, how it ended, and whether its port ever answered. */
async function fails(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | string; readonly said: string; readonly served: boolean }> {
  const port = await freePort();
  const replica: ReplicaProcess = spawnReplica({ databaseUrl, env }, port);
  let served = false;
  let over = false;
  const asking = (async () => {
    while (!over) {
      const answer = await fetch(`${replica.base}/readyz`).catch(() => null);
      served ||= answer?.status === 200;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const code = await replica.exited;
  over = true;
  await asking;
  const said = [...replica.errors, ...replica.logs.map((line) => JSON.stringify(line))].join('\n');
  return { code, said, served };
}

describe.each(availableProviders())('a replica does not start, and says why, on %s:', (provider) => {
  test('without its database', async () => {
    const missing = await database({ provider, exists: false });
    const { code, said, served } = await fails(missing.url);
    expect(code).not.toBe(0);
    expect(said).toMatch(/does not exist|there is no database/i);
    expect(said).toMatch(/prisma migrate deploy/);
    expect(said).not.toMatch(/\n\s+at /);
    expect(served).toBe(false);
  });

  test('on a schema that is behind, naming what is missing and the way out', async () => {
    const behind = await database({ provider, upTo: 3 });
    const { code, said, served } = await fails(behind.url);
    expect(code).toBe(EXIT_CONFIG);
    expect(said).toMatch(/task_leases/);
    expect(said).toMatch(/prisma migrate deploy/);
    expect(served).toBe(false);
  });

  test("on another application's tables", async () => {
    const foreign = await database({ provider, migrated: false });
    const raw = await openRaw(foreign.url);
    await raw.run('CREATE TABLE tasks (id INT PRIMARY KEY, title VARCHAR(20))');
    await raw.close();
    const { code, said, served } = await fails(foreign.url);
    expect(code).toBe(EXIT_CONFIG);
    expect(said).toMatch(/another application|foreign|not ours|of its own/i);
    expect(served).toBe(false);
  });

  test('with intervals that do not add up, naming both numbers', async () => {
    const sound = await database({ provider });
    const { code, said } = await fails(sound.url, { LEASE_TTL_MS: '3000', LEASE_HEARTBEAT_MS: '1500' });
    expect(code).toBe(EXIT_CONFIG);
    expect(said).toMatch(/3000/);
    expect(said).toMatch(/1500/);
  });

  test('with an agent module that does not load', async () => {
    const sound = await database({ provider });
    const { code, said, served } = await fails(sound.url, { AGENT_MODULE: './no-such-agent.mjs' });
    expect(code).toBe(EXIT_CONFIG);
    expect(said).toMatch(/no-such-agent\.mjs/);
    expect(served).toBe(false);
  });
});

describe('a replica does not start on an SQLite path', () => {
  test('below a file', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'a2a-test-'));
    await writeFile(path.join(folder, 'file'), '');
    const { code, said } = await fails(`file:${folder}/file/cluster.db`);
    expect(code).not.toBe(0);
    expect(said).toContain(`${folder}/file is not a directory`);
    await rm(folder, { recursive: true });
  });

  test('that is not a database', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'a2a-test-'));
    await writeFile(path.join(folder, 'cluster.db'), 'x'.repeat(4096));
    const { code, said } = await fails(`file:${folder}/cluster.db`);
    expect(code).not.toBe(0);
    expect(said).toMatch(/not an SQLite database/);
    await rm(folder, { recursive: true });
  });
});
