import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { post, startConsole, type ConsoleReplica } from './replica.js';

let replica: ConsoleReplica;
let hooks: Server;
let hook: string;

beforeAll(async () => {
  hooks = createServer((req, res) => {
    req.resume().on('end', () => res.writeHead(req.url?.startsWith('/gone') ? 404 : 200).end());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => hooks.once('listening', resolve));
  hook = `http://planted-user:planted-word@127.0.0.1:${(hooks.address() as AddressInfo).port}`;
  replica = await startConsole({
    cluster: {
      database: createMemoryDatabase(),
      push: { allow: ['127.0.0.1'], signing: [{ id: 'k', secret: 'planted-signing-secret' }] },
    },
    operator: { token: 'planted-operator-token', consoleToken: 'planted-console-token' },
  });
});

afterAll(async () => {
  await replica.close();
  hooks.closeAllConnections();
  await new Promise((resolve) => hooks.close(resolve));
});

const token = 'planted-console-token';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
async function get(path: string): Promise<any> {
  const answer = await replica.call(`/api/${path}`, { token });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.json;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
async function act(path: string, body?: unknown): Promise<any> {
  const answer = await replica.call(`/api/${path}`, { ...post(body), token });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.json;
}

/** Asks until it is so; the replica does the work. */
async function until<Value>(ask: () => Promise<Value>, holds: (value: Value) => boolean): Promise<Value> {
  for (;;) {
    const value = await ask();
    if (holds(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('tasks', () => {
  test('come in pages, the youngest first, and by what they are', async () => {
    const ids: string[] = [];
    for (let at = 0; at < 5; at += 1) ids.unshift((await replica.send('done ok', { owner: 'pager' })).id);
    const waiting = await replica.send('ask more', { owner: 'pager' });
    await until(
      () => get('tasks?owner=pager&state=TASK_STATE_COMPLETED'),
      ({ tasks }) => tasks.length === 5,
    );
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await get(`tasks?owner=pager&state=TASK_STATE_COMPLETED&limit=2${cursor}`);
      seen.push(...page.tasks.map(({ taskId }: { taskId: string }) => taskId));
      cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
    } while (cursor !== '');
    expect([...seen].sort()).toEqual([...ids].sort());
    const both = await get('tasks?owner=pager&state=TASK_STATE_COMPLETED&state=TASK_STATE_INPUT_REQUIRED');
    expect(both.tasks).toHaveLength(6);
    const { tasks } = await get(`tasks?context=${waiting.contextId}&youngerThanMs=600000`);
    expect(tasks).toMatchObject([
      { taskId: waiting.id, owner: 'pager', tenant: '', state: 'TASK_STATE_INPUT_REQUIRED', lease: null },
    ]);
    expect((await get('tasks?owner=pager&olderThanMs=600000')).tasks).toEqual([]);
    expect((await get('tasks?owner=nobody')).nextCursor).toBeNull();
  });

  test('one by one, with who runs it and what was written', async () => {
    const { id } = await replica.send('tick 3 1; sleep 600000');
    const [{ replicaId }] = (await get('overview')).replicas;
    const page = await until(
      () => get(`tasks/${id}/events`),
      ({ events }) => events.length >= 4,
    );
    expect(page.events.slice(0, 3)).toMatchObject([
      { seq: 1, kind: 'task', holder: replicaId, epoch: 1, payload: { task: { id } } },
      { seq: 2, kind: 'statusUpdate', payload: { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } } },
      { seq: 3, kind: 'statusUpdate' },
    ]);
    expect((await get(`tasks/${id}/events?after=2&limit=1`)).events).toMatchObject([{ seq: 3 }]);
    const detail = await get(`tasks/${id}`);
    expect(detail).toMatchObject({
      task: { taskId: id, state: 'TASK_STATE_WORKING', lease: { holder: replicaId, epoch: 1, cancelAgeMs: null } },
      document: { id, status: { state: 'TASK_STATE_WORKING' } },
      ...{ push: [], pruned: false },
    });
    expect(detail.task.lease.remainingMs).toBeGreaterThan(0);
    expect((await get(`tasks?holder=${replicaId}`)).tasks).toMatchObject([{ taskId: id }]);
    const answer = await replica.call('/api/tasks/nobody', { token });
    expect([answer.status, answer.json.error.status]).toEqual([404, 'NOT_FOUND']);
    expect((await replica.call('/api/tasks/nobody/events', { token })).status).toBe(404);
    const timed = await replica.call(`/api/tasks/${id}`, { token });
    expect(timed.headers['server-timing']).toMatch(/^total;dur=\d+\.\d$/);
    await act(`tasks/${id}/cancel`);
  });
});

describe('acting', () => {
  test('cancels a task', async () => {
    const { id } = await replica.send('sleep 600000');
    expect(await act(`tasks/${id}/cancel`)).toMatchObject({ ok: true, outcome: 'canceled' });
    expect((await get(`tasks/${id}`)).task.state).toBe('TASK_STATE_CANCELED');
    const done = await replica.send('done ok');
    await until(
      () => get(`tasks/${done.id}`),
      ({ task }) => task.state === 'TASK_STATE_COMPLETED',
    );
    expect(await act(`tasks/${done.id}/cancel`)).toMatchObject({ ok: false, outcome: 'ended' });
    expect(await act('tasks/nobody/cancel')).toMatchObject({ ok: false, outcome: 'not_found' });
  });

  test('releases a lease', async () => {
    const { id } = await replica.send('sleep 600000');
    expect(await act(`tasks/${id}/release`)).toMatchObject({ ok: true, outcome: 'failed' });
    expect((await get(`tasks/${id}`)).task).toMatchObject({ state: 'TASK_STATE_FAILED', lease: null });
    expect(await act(`tasks/${id}/release`)).toMatchObject({ ok: false, outcome: 'not_found' });
  });

  test('drains a replica and has it take turns again', async () => {
    const [{ replicaId }] = (await get('overview')).replicas;
    expect(await act(`replicas/${replicaId}/drain`)).toMatchObject({ ok: true, outcome: 'draining' });
    await until(
      () => get('overview'),
      ({ replicas }) => replicas[0].phase === 'paused' && replicas[0].pauseRequested,
    );
    await expect(replica.send('done ok')).rejects.toThrow();
    expect(await act(`replicas/${replicaId}/resume`)).toMatchObject({ ok: true, outcome: 'resumed' });
    await until(
      () => get('overview'),
      ({ replicas }) => replicas[0].phase === 'running',
    );
    expect(await act('replicas/nobody/drain')).toMatchObject({ ok: false, outcome: 'not_found' });
  });

  test('has a dead push tried again, and shows nothing of its secrets', async () => {
    const { id } = await replica.send('done ok', { hook: `${hook.replace(/\/\/.*@/, '//')}/gone?key=planted-key` });
    const { push } = await until(
      () => get(`tasks/${id}`),
      (detail) => detail.push[0]?.dead.length >= 2,
    );
    expect(push).toMatchObject([
      { configId: 'hook', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/gone\?…$/), lastError: null },
    ]);
    expect(push[0].dead[0]).toMatchObject({ status: 'dead', attempts: 1, error: expect.stringContaining('404') });
    const overview = await until(
      () => get('overview'),
      ({ push: counts }) => counts.deadLetters > 0,
    );
    expect(overview.attention).toContainEqual(expect.objectContaining({ code: 'push_dead_letters', link: `/tasks/${id}` }));
    expect(await act(`tasks/${id}/retry-push`, { configId: 'other' })).toMatchObject({ outcome: 'not_found' });
    expect(await act(`tasks/${id}/retry-push`, { configId: 'hook' })).toMatchObject({ ok: true, outcome: 'queued' });
    for (const path of ['overview', 'tasks', `tasks/${id}`, `tasks/${id}/events`])
      expect(JSON.stringify(await get(path))).not.toContain('planted');
  });

  test('leaves a line each: who, what, which, to what end', async () => {
    const acted = replica.kept.lines().filter(({ msg }) => msg === 'an operator acted');
    expect(acted).toContainEqual(
      expect.objectContaining({
        ...{ audit: true, key: 'console', action: 'cancel', outcome: 'canceled', remoteAddress: '127.0.0.1' },
        ...{ requestId: expect.any(String), taskId: expect.any(String) },
      }),
    );
    expect(new Set(acted.map(({ action }) => action))).toEqual(
      new Set(['cancel', 'release', 'drain', 'resume', 'retry-push']),
    );
    expect(JSON.stringify(replica.kept.lines())).not.toMatch(/planted-(console|operator|key|token|word|signing)/);
  });
});
