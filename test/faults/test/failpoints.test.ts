import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, workspaceRoot, type TestDatabase } from '@a2a-cluster/testing';
import { Recording, textOf } from '../../integration/support/recording.js';
import { freePort, ReplicaProcess } from '../../integration/support/replica-process.js';
import { Rows } from '../../integration/support/rows.js';
import { Failpoints } from '../src/tools/failpoints.js';
import { missingRewrites, testBuildArgs, type TestBuildOptions } from '../src/tools/test-build.js';

const program = path.join(workspaceRoot, 'apps/clustermode/bin/clustermode.js');
const observed = path.join(workspaceRoot, 'test/faults/agents/observed.mjs');

let database: TestDatabase;
let rows: Rows;
/** Runs without a plan until a test sets one. */
let steady: Started;
const replicas: ReplicaProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase({ provider: 'sqlite' });
  rows = await Rows.open(database.url);
  steady = await start({});
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end()));
  await rows.close();
  await database.drop();
});

interface Started {
  readonly replica: ReplicaProcess;
  readonly failpoints: Failpoints;
}

async function start(build: TestBuildOptions): Promise<Started> {
  const port = await freePort();
  const { nodeArgs, env } = testBuildArgs(build);
  const child = spawn(process.execPath, [...nodeArgs, program, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      PORT: String(port),
      REPLICA_ID: 'r1',
      LEASE_TTL_MS: '3000',
      LEASE_HEARTBEAT_MS: '500',
      SWEEP_INTERVAL_MS: '500',
      AGENT_MODULE: observed,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const failpoints = new Failpoints(child);
  const replica = new ReplicaProcess(child, `http://127.0.0.1:${port}`, 'r1');
  replicas.push(replica);
  const listening = replica.log((line) => line.msg === 'listening');
  const ended = replica.exited.then((code) =>
    Promise.reject(new Error(`${code}: ${replica.errors.join('\n')}`)),
  );
  ended.catch(() => {});
  await Promise.race([listening, ended]);
  return { replica, failpoints };
}

async function ticksOf(taskId: string): Promise<string[]> {
  const events = await rows.events(taskId);
  return events.flatMap(({ payload }) => /tick \d+\/\d+/.exec(payload)?.[0] ?? []);
}

describe('the test build', () => {
  test('says which rewrites it runs with', async () => {
    const { failpoints } = await start({ mutation: 'expected-version' });
    const report = await failpoints.report();
    expect(missingRewrites(report, 'sqlite')).toEqual([]);
    expect(missingRewrites(report, 'postgresql')).not.toEqual([]);
    const loaded = report.applied.map(({ rewrite }) => rewrite);
    expect(loaded).toEqual(
      expect.arrayContaining(['mutation expected-version', 'failpoint statements', 'failpoint push']),
    );
  });

  test('does not start with a plan or a mutation that it does not know', async () => {
    const run = async (env: Record<string, string>): Promise<string> => {
      const [registered] = testBuildArgs().nodeArgs.slice(-1);
      const child = spawn(process.execPath, ['--import', registered ?? '', program, 'serve'], {
        env: { PATH: process.env['PATH'], DATABASE_URL: database.url, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr?.on('data', (chunk) => (said += String(chunk)));
      const [code] = (await once(child, 'close')) as [number];
      return `${code} ${said}`;
    };
    expect(await run({ FAULTS_FAILPOINTS: 'journal.comit=kill' })).toMatch(/^78 test build: .*no failpoint/);
    expect(await run({ FAULTS_MUTATION: 'fense' })).toMatch(/^78 test build: .*no mutation `fense`/);
  });
});

describe('a failpoint', () => {
  test('kills the replica after a commit, which stands in the log', async () => {
    const { replica, failpoints } = await start({ failpoints: 'journal.commit@after=kill#2' });
    const stream = new Recording(replica.client.stream({ text: 'tick 20 30; done' }));
    const trigger = await failpoints.passed('journal.commit@after');
    expect(await replica.exited).toBe('SIGKILL');
    expect(trigger).toMatchObject({ action: 'kill', taskId: await stream.taskId() });
    // The task, and two commits: the second was not told to anybody.
    const stored = await ticksOf(await stream.taskId());
    const told = stream.events.map(textOf).filter((text) => text.startsWith('tick'));
    expect(stored.length).toBeGreaterThan(told.length);
    await expect(failpoints.passed('journal.sweep@after')).rejects.toThrow('gone');
  });

  test('loses answers or has them late, and the turn goes on with no event twice', async () => {
    const { replica, failpoints } = steady;
    await failpoints.set(
      'journal.commit@after=lose#2;journal.commit@before=late#4;journal.createTask@after=lose#1',
    );
    const stream = new Recording(replica.client.stream({ text: 'tick 8 10; done' }));
    expect(await stream.ended).toBeNull();
    const taskId = await stream.taskId();
    expect(failpoints.triggers.map(({ action }) => action)).toEqual(['lose', 'lose', 'late']);
    expect(await ticksOf(taskId)).toEqual(Array.from({ length: 8 }, (_, i) => `tick ${i + 1}/8`));
    expect((await rows.task(taskId))?.state).toBe('TASK_STATE_COMPLETED');
    await expect(failpoints.set('journal.commit=nonsense')).rejects.toThrow('not possible');
  });

  test('is retried by the product where the driver met a deadlock', async () => {
    const { replica, failpoints } = steady;
    await failpoints.set('driver.deadlock=deadlock%0.4;seed=3');
    const stream = new Recording(replica.client.stream({ text: 'tick 8 10; done' }));
    expect(await stream.ended).toBeNull();
    await failpoints.set('');
    expect(failpoints.triggers.filter(({ statement }) => statement === 'journal.commit')).not.toEqual([]);
    expect((await rows.task(await stream.taskId()))?.state).toBe('TASK_STATE_COMPLETED');
  });

  test('stops the replica before a commit; what a zombie says then is not stored', async () => {
    const { replica: victim, failpoints } = await start({ failpoints: 'journal.commit@before=stop#3' });
    const stream = new Recording(victim.client.stream({ text: 'zombie 3 20; tick 100 30; done' }));
    await failpoints.passed('journal.commit@before');
    const taskId = await stream.taskId();
    await new Recording(steady.replica.client.subscribe(taskId)).ended;
    const swept = await rows.events(taskId);
    victim.kill('SIGCONT');
    const line = await victim.log(({ msg }) => msg === 'agent turn returned');
    expect(line).toMatchObject({ taskId, epoch: 1, replica: 'r1', level: 'info' });
    expect(victim.logs.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['agent turn began', 'agent signal fired']),
    );
    expect(await rows.events(taskId)).toEqual(swept);
    expect((await steady.replica.client.get(taskId)).result?.status.state).toBe('TASK_STATE_FAILED');
  });
});
