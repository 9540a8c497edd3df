import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { killAll, listening, needBuild, starter } from '../command.js';
import { call, openPage } from './replica.js';

let folder: string;
const start = starter(() => ({ folder, databaseUrl: `file:${path.join(folder, 'cluster.db')}` }));

beforeAll(async () => {
  needBuild();
  folder = await mkdtemp(path.join(tmpdir(), 'console-served-'));
});

afterAll(async () => {
  killAll();
  await rm(folder, { recursive: true, force: true });
});

describe('a served console', () => {
  test('is on the listener of clients, and its open pages end with the replica, cleanly', async () => {
    const replica = start(['serve', '--migrate'], { AUTH_TOKENS: 'tok-a=alice' });
    const url = await listening(replica);
    const page = await call(`${url}/console/`, {});
    expect([page.status, page.headers['content-type']]).toEqual([200, expect.stringMatching(/^text\/html/)]);
    const [, script] = /src="(\/console\/assets\/[^"]+\.js)"/.exec(page.text) ?? [];
    const asset = await call(`${url}${script}`, {});
    expect([asset.status, asset.headers['cache-control']]).toEqual([
      200,
      expect.stringContaining('immutable'),
    ]);
    const live = await openPage(`${url}/console/api/live`);
    const { data } = await live.until(({ name }) => name === 'overview');
    expect(data).toMatchObject({ provider: 'sqlite', hints: 'counter', leaseTtlMs: 15_000, mayAct: true });
    replica.child.kill('SIGTERM');
    expect(await live.ended).toBe(true);
    expect(await replica.ended).toBe(0);
  });

  test('is on the listener of the operator only, where there is one', async () => {
    const replica = start(['serve', '--migrate'], {
      ...{ OPERATOR_PORT: '0', OPERATOR_TOKEN: 'operator-0123456789', CONSOLE_TOKEN: 'console-0123456789' },
    });
    const url = await listening(replica);
    const [, port] = await replica.said(/"port":(\d+),[^\n]*"msg":"listening for operators"/);
    const api = `http://127.0.0.1:${port}/console/api`;
    expect((await call(`${url}/console/`, {})).status).toBe(404);
    expect((await call(`${api}/overview`, {})).status).toBe(401);
    const answer = await call(`${api}/overview`, { token: 'operator-0123456789' });
    expect(answer.json).toMatchObject({ mayAct: false, replicas: [{ phase: expect.any(String) }] });
    const drain = { method: 'POST', token: 'console-0123456789' };
    const [{ replicaId }] = answer.json.replicas;
    expect((await call(`${api}/replicas/${replicaId}/drain`, drain)).json.outcome).toBe('draining');
    await replica.said(/"action":"drain"[^\n]*"outcome":"draining"[^\n]*"an operator acted"/);
    replica.child.kill('SIGTERM');
    expect(await replica.ended).toBe(0);
    expect(replica.out()).not.toMatch(/operator-0123456789|console-0123456789/);
  });
});
