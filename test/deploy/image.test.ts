import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { DockerfileParser } from 'dockerfile-ast';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createTestDatabase, workspaceRoot } from '@a2a-cluster/testing';
import { startReplica } from '../integration/support/replica-process.js';
import { deployFile } from './support/deploy-file.js';
import { ownNetwork } from './support/own-network.js';
import { startReplicaAt } from './support/replicas-at.js';

jest.setTimeout(240_000);
const run = promisify(execFile);
/** The largest folder that still counts as small, in bytes; it was 98 MB when this was written. */
const MOST_BYTES = 130_000_000;
/** Nobody in particular, as the image's own user is. */
const UID = 1000;

/** The command lines that make the folder of the image: the last RUN of the build stage. */
function stepsInto(folder: string): string[] {
  const instructions = DockerfileParser.parse(deployFile('Dockerfile')).getInstructions();
  const runs = instructions.filter((one) => one.getKeyword() === 'RUN');
  const [step] = runs.map((one) => one.getArgumentsContent() ?? '').filter((text) => text.includes('deploy'));
  return (step ?? '')
    .replaceAll('\\\n', ' ')
    .replaceAll('/replica', folder)
    .split('&&')
    .map((text) => text.trim());
}

function bytesOf(folder: string): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) sum += statSync(path.join(entry.parentPath, entry.name)).size;
  return sum;
}

describe('what the image holds', () => {
  let folder: string;
  beforeAll(async () => {
    const parent = mkdtempSync(path.join(tmpdir(), 'a2a-image-'));
    chmodSync(parent, 0o755);
    folder = path.join(parent, 'replica');
    for (const step of stepsInto(folder)) {
      const [program = '', ...args] = step.split(/\s+/);
      await run(program, args, { cwd: workspaceRoot, env: { ...process.env, CI: 'true' } });
    }
  });
  afterAll(() => rmSync(path.dirname(folder), { recursive: true, force: true }));

  test("is small, and has no compiler, no Prisma command line and none of this project's sources", () => {
    expect(bytesOf(folder)).toBeLessThan(MOST_BYTES);
    const packages = readdirSync(path.join(folder, 'node_modules/.pnpm'));
    expect(packages.filter((name) => /^(typescript|prisma|vite|jest)@/.test(name))).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(
      expect.arrayContaining(['bin', 'dist', 'node_modules', 'package.json']),
    );
    expect(existsSync(path.join(folder, 'src'))).toBe(false);
    expect(existsSync(path.join(folder, 'test'))).toBe(false);
  });

  test.each(['postgresql', 'mysql', 'sqlite'] as const)(
    'runs a replica on %s, as a user who may write none of it',
    async (provider) => {
      const database = await createTestDatabase({ provider });
      const file = database.url.replace(/^file:/, '');
      if (provider === 'sqlite') await run('chown', ['-R', String(UID), path.dirname(file)]);
      const asNobody = process.getuid?.() === 0 ? { uid: UID } : {};
      const host = ownNetwork().replica(1);
      const replica = await startReplicaAt({
        ...{ host, name: 'image', databaseUrl: database.url, folder, ...asNobody },
        env: { NODE_ENV: 'production', HOME: '/nonexistent', AUTH_TOKENS: 'token-of-the-test=alice' },
      });
      try {
        const answer = await replica.as('token-of-the-test').send({ text: 'tick 2 10; done' });
        expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
        replica.kill('SIGTERM');
        expect(await replica.exited).toBe(0);
      } finally {
        await replica.end();
        await database.drop();
      }
    },
  );

  test('the health check of the image tells a replica that lives from one that does not', async () => {
    const check = /HEALTHCHECK[^\n]*\\\n\s+CMD (\[.*\])/.exec(deployFile('Dockerfile'))?.[1] ?? '[]';
    const [, ...args] = JSON.parse(check) as string[];
    const database = await createTestDatabase({ provider: 'sqlite' });
    const replica = await startReplica({ databaseUrl: database.url });
    const PORT = new URL(replica.base).port;
    const asked = (): Promise<unknown> => run(process.execPath, args, { env: { PORT } });
    try {
      await expect(asked()).resolves.toBeDefined();
      await replica.end();
      await expect(asked()).rejects.toMatchObject({ code: 1 });
    } finally {
      await replica.end();
      await database.drop();
    }
  });
});
