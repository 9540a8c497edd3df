import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, createTestDatabase, hasTools, workspaceRoot } from '@a2a-cluster/testing';
import { killAll, listening, needBuild, starter, type Run } from './command.js';
import { userMessage, v1 } from './fixture.js';
import { openRoad } from './road.js';

const program = path.join(workspaceRoot, 'apps/clustermode/bin/clustermode.js');

let folder: string;
let url: string;
let replica: Run;
let replicaId: string;

const start = starter(() => ({ folder, databaseUrl: `file:${path.join(folder, 'cluster.db')}` }));
const env = {
  ...{ AUTH_TOKENS: 'tok-a=alice,tok-b=bob@lab', REPLICA_ID: 'r1', CANCEL_GRACE_MS: '600000' },
  ...{ LEASE_TTL_MS: '5000', LEASE_HEARTBEAT_MS: '200' },
};

beforeAll(async () => {
  needBuild();
  folder = await mkdtemp(path.join(tmpdir(), 'operator-commands-'));
  replica = start(['serve', '--migrate'], env);
  url = await listening(replica);
  [{ replicaId }] = await rows('replicas');
});

afterAll(async () => {
  killAll();
  await replica.ended;
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

async function run(...words: string[]): Promise<Ended> {
  const command = start(words, { CANCEL_GRACE_MS: '600000' });
  const code = await command.ended;
  return { code, out: command.out(), err: command.err() };
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
async function rows(...words: string[]): Promise<any> {
  const { code, out, err } = await run(...words, '--json');
  expect([words, code, err]).toEqual([words, 0, '']);
  return JSON.parse(out);
}

async function send(script: string, token = 'tok-a'): Promise<{ id: string; contextId: string }> {
  const answer = await fetch(`${url}/a2a/rest/message:send`, {
    method: 'POST',
    headers: { ...v1, 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ message: userMessage(script), configuration: { returnImmediately: true } }),
  });
  const { task } = (await answer.json()) as { task: { id: string; contextId: string } };
  return task;
}

describe('tasks', () => {
  test('are found by what they are', async () => {
    const waiting = await send('ask more');
    const others = await send('tick 1 1; sleep 600000', 'tok-b');
    const ids = async (...words: string[]): Promise<string[]> =>
      (await rows('tasks', ...words)).map(({ taskId }: { taskId: string }) => taskId).sort();
    const both = [waiting.id, others.id].sort();
    const table: readonly (readonly [readonly string[], readonly string[]])[] = [
      [[], both],
      [['--state', 'input-required,working'], both],
      [['--state', 'working', '--state', 'TASK_STATE_FAILED'], [others.id]],
      [['--owner', 'alice'], [waiting.id]],
      [['--tenant', 'lab', '--limit', '1'], [others.id]],
      [['--holder', replicaId], [others.id]],
      [['--context', waiting.contextId], [waiting.id]],
      [['--older-than', '1h'], []],
      [['--younger-than', '1ms'], []],
    ];
    for (const [words, expected] of table) expect([words, await ids(...words)]).toEqual([words, expected]);
    const { out } = await run('tasks', '--owner', 'bob');
    expect(out).toMatch(/^task +state +age +idle/);
    expect(out).toMatch(
      new RegExp(`^${others.id} +WORKING +\\d+ m?s .* ${replicaId} +\\d+ m?s +lab +bob `, 'm'),
    );
    expect(out).not.toContain('\u001B');
  });

  test('are shown one by one', async () => {
    const { id } = await send('tick 3 1; ask more');
    await inState(id, 'INPUT_REQUIRED');
    expect(await rows('tasks', 'show', id, '--events', '2')).toMatchObject({
      ...{ taskId: id, owner: 'alice', holder: null, push: [], deadLetters: [] },
      events: [
        { seq: 4, kind: 'statusUpdate' },
        { seq: 5, kind: 'statusUpdate', epoch: 1 },
      ],
    });
    const { out } = await run('tasks', 'show', id);
    expect(out).toMatch(/^task +\S+\nstate +INPUT_REQUIRED\nowner +alice\n/);
    expect(out).toMatch(/^1 +task +r1-/m);
    expect(await run('tasks', 'show', 'nobody')).toMatchObject({ code: 1, out: 'There is no such task.\n' });
  });

  test('are cancelled: who runs one is told, and is not waited for longer than it takes', async () => {
    const { id } = await send('tick 1 1; sleep 600000');
    expect(await rows('tasks', 'cancel', id)).toEqual({ taskId: id, outcome: 'canceled' });
    await inState(id, 'CANCELED');
    const parked = await send('ask more');
    await inState(parked.id, 'INPUT_REQUIRED');
    expect(await run('tasks', 'cancel', parked.id)).toMatchObject({
      code: 0,
      out: 'The task is CANCELED.\n',
    });
    expect(await run('tasks', 'cancel', 'nobody')).toMatchObject({
      code: 1,
      out: 'There is no such task.\n',
    });
    const failed = await send('fail now');
    await inState(failed.id, 'FAILED');
    expect((await run('tasks', 'cancel', failed.id, '--json')).out).toContain('"outcome":"ended"');
  });

  test.each([
    [['tasks', '--state', 'dancing'], /no state "dancing".*working/],
    [['tasks', '--older-than', 'yesterday'], /such as 500ms, 90s/],
    [['tasks', '--limit', '0'], /whole number from 1/],
    [['tasks', '--watch', 'often'], /number of seconds/],
    [['tasks', 'show'], /missing required argument/],
  ])('say what is wrong with %j', async (words, said) => {
    const { code, err } = await run(...words);
    expect([code, err]).toEqual([1, expect.stringMatching(said)]);
  });
});

describe('replicas', () => {
  test('are listed with what they do', async () => {
    expect(await rows('replicas')).toMatchObject([
      { replicaId: expect.stringMatching(/^r1-/), health: 'alive', phase: 'running', pid: replica.child.pid },
    ]);
    expect((await run('replicas')).out).toMatch(/^replica .*\n\S+ +alive +running /);
  });

  test('drain, are waited for, and take turns again', async () => {
    const { id } = await send('tick 1 1; sleep 600000');
    const drain = start(['replicas', 'drain', 'r1', '--wait']);
    await drain.said(/still runs \d turns?\./);
    const refused = await fetch(`${url}/a2a/rest/message:send`, {
      method: 'POST',
      headers: { ...v1, 'content-type': 'application/json', authorization: 'Bearer tok-a' },
      body: JSON.stringify({ message: userMessage('done ok') }),
    });
    expect(refused.status).toBe(503);
    for (const { taskId } of await rows('leases')) await rows('tasks', 'cancel', taskId);
    expect(await drain.ended).toBe(0);
    expect(drain.out()).toMatch(new RegExp(`${replicaId} runs no turn any more.\n$`));
    await inState(id, 'CANCELED');
    expect(await rows('replicas', 'resume', replicaId)).toEqual({ replica: replicaId, outcome: 'resumed' });
    await until(async () => (await seen('overview')).replicas[0].phase, 'running');
    expect(await run('replicas', 'drain', 'nobody')).toMatchObject({
      code: 1,
      out: 'There is no replica nobody.\n',
    });
  });

  test('that drain are not waited for after Ctrl-C, and drain all the same', async () => {
    const { id } = await send('tick 1 1; sleep 600000');
    const drain = start(['replicas', 'drain', replicaId, '--wait', '--json']);
    await drain.said(/"runningTurns":1/);
    drain.child.kill('SIGINT');
    expect(await drain.ended).toBe(1);
    expect(drain.out()).toMatch(/"outcome":"stopped"/);
    expect(await rows('replicas')).toMatchObject([{ pauseRequested: true }]);
    await rows('replicas', 'resume', 'r1');
    await rows('tasks', 'cancel', id);
  });
});

describe('watching', () => {
  test('appends a line of JSON per look, and ends at Ctrl-C', async () => {
    const watch = start(['replicas', '--json', '--watch', '0.2']);
    await watch.said(/(.*\n){3}/);
    watch.child.kill('SIGINT');
    expect(await watch.ended).toBe(0);
    for (const line of watch.out().trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ at: expect.any(String), rows: [{ replicaId }] });
  });

  test('ends when nobody reads any more', async () => {
    const watch = start(['leases', '--watch', '0.1']);
    await watch.said(/Leases, every 0.1 s/);
    watch.child.stdout?.destroy();
    expect(await watch.ended).toBe(0);
    expect(watch.err()).toBe('');
  });

  const hasScript = hasTools({
    tests: 'colours on a terminal',
    missing: spawnSync('script', ['--version']).status === 0 ? null : 'script (util-linux)',
  });
  (hasScript ? test : test.skip).each([
    ['with colours', {}, true],
    ['without, where NO_COLOR is set', { NO_COLOR: '1' }, false],
  ])('draws a table in its place on a terminal, %s', async (_name, more, colours) => {
    const words = `exec ${process.execPath} ${program} replicas --watch 0.2`;
    const child = spawn('script', ['-qefc', words, '/dev/null'], {
      cwd: folder,
      env: {
        ...{
          PATH: process.env['PATH'],
          TERM: 'xterm',
          DATABASE_URL: `file:${path.join(folder, 'cluster.db')}`,
        },
        ...more,
      },
    });
    let out = '';
    const drawn = new Promise<void>((resolve) =>
      child.stdout.on('data', (chunk) => {
        out += chunk;
        if (out.split('\u001B[H\u001B[J').length > 3) resolve();
      }),
    );
    const ended = new Promise((resolve) => child.once('close', resolve));
    await drawn;
    child.stdin.write('\u0003');
    expect(await ended).toBe(0);
    expect(out).toContain('Replicas, every 0.2 s');
    expect(out.includes('\u001B[32malive')).toBe(colours);
  });

  const postgresql = availableProviders().includes('postgresql') ? test : test.skip;
  postgresql('goes on while the database is away, and says so', async () => {
    const database = await createTestDatabase({ provider: 'postgresql' });
    const road = await openRoad(new URL(database.url));
    try {
      const watch = start(['tasks', '--json', '--watch', '0.2'], { DATABASE_URL: road.url });
      await watch.said(/"rows":\[\]/);
      await road.cut();
      await watch.said(/"error":"[^"]+"/);
      await road.mend();
      await watch.said(/"error".*\n(.*\n)*.*"rows":\[\]/);
      watch.child.kill('SIGTERM');
      expect(await watch.ended).toBe(0);
    } finally {
      await road.cut();
      await database.drop();
    }
  });
});

/** What the console of the replica says. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
async function seen(what: string): Promise<any> {
  return (await fetch(`${url}/console/api/${what}`)).json();
}

function inState(id: string, state: string): Promise<void> {
  return until(async () => (await seen(`tasks/${id}`)).task.state, `TASK_STATE_${state}`);
}

async function until(ask: () => Promise<string>, answer: string): Promise<void> {
  while ((await ask()) !== answer) await new Promise((resolve) => setTimeout(resolve, 10));
}
