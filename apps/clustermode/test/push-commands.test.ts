import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@a2a-cluster/core';
import type { Cluster } from '@a2a-cluster/cluster';
import { createTestDatabase, workspaceRoot, type TestDatabase } from '@a2a-cluster/testing';
import { SendMessageRequest, type Task } from '@a2a-js/sdk';
import { ServerCallContext } from '@a2a-js/sdk/server';
import { createDemoAgent } from '../src/agent/demo-agent.js';
import { composeCluster } from '../src/compose.js';
import { loadConfig } from '../src/config.js';
import { pushReadings } from '../src/operator/push-readings.js';
import { userMessage } from './fixture.js';

const program = path.join(workspaceRoot, 'apps/clustermode/bin/clustermode.js');

let database: TestDatabase;
let cluster: Cluster;
let hooks: Server;
const statuses = new Map<string, number>();
const received: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase({ provider: 'sqlite' });
  hooks = createServer((req, res) => {
    received.push(`${req.url ?? ''} ${String(req.headers['a2a-notification-id'])}`);
    const status = statuses.get(req.url ?? '') ?? 200;
    // Whoever fails asks for an hour, so that it is the operator whose retry is seen.
    const headers = status === 503 ? { 'Retry-After': '3600' } : {};
    req.resume().on('end', () => res.writeHead(status, headers).end());
  }).listen(0, '127.0.0.1');
  const env = {
    DATABASE_URL: database.url,
    PUSH_ALLOW: '127.0.0.1',
    PUSH_POLL_INTERVAL_MS: '50',
    PUSH_SIGNING_KEYS: 'k1=a-secret-of-sixteen-bytes',
  };
  const result = loadConfig({ env });
  if (result.problems !== undefined) throw new Error(result.problems.join('; '));
  const { config } = result;
  cluster = await composeCluster({
    config,
    agent: { executor: createDemoAgent() },
    logger: createSilentLogger(),
  });
  await cluster.start();
});

afterAll(async () => {
  await cluster.close();
  hooks.closeAllConnections();
  await new Promise((resolve) => hooks.close(resolve));
  await database.drop();
});

/** Runs a command as its user does; its code and what it printed. */
function run(
  ...words: string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...words], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

async function json(...words: string[]): Promise<unknown> {
  return JSON.parse((await run(...words, '--json')).out);
}

/** A task that has ended, with a webhook at this path. */
async function pushed(hook: string, status: number): Promise<string> {
  statuses.set(hook, status);
  const { port } = hooks.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}${hook}?key=hidden`;
  statuses.set(`${hook}?key=hidden`, status);
  const request = SendMessageRequest.fromJSON({
    message: userMessage('done ok'),
    configuration: { taskPushNotificationConfig: { id: 'hook', url, token: 'secret-token' } },
  });
  const context = new ServerCallContext({ requestedVersion: '1.0' });
  return ((await cluster.requestHandler.sendMessage(request, context)) as Task).id;
}

/** Asks until the answer fits; the attempts are made by the running replica. */
async function until<Row>(
  ask: () => Promise<readonly Row[]>,
  holds: (rows: readonly Row[]) => boolean,
): Promise<void> {
  const end = performance.now() + 20_000;
  for (let rows = await ask(); !holds(rows); rows = await ask()) {
    if (performance.now() > end) throw new Error(`not within 20 s: ${JSON.stringify(rows)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the commands about webhooks', () => {
  test('show what fails, is disabled and was given up, without secrets, and have it tried again', async () => {
    const down = await pushed('/down', 503);
    const gone = await pushed('/gone', 410);
    const bad = await pushed('/bad', 400);
    const { deliveries, deadLetters } = cluster.operator.push;
    await until(deliveries, (rows) => rows.length === 2 && rows.every(({ lastError }) => lastError !== null));
    expect(await json('push', '--task', down)).toMatchObject([
      { taskId: down, configId: 'hook', status: 'active', lastError: expect.stringContaining('503') },
    ]);
    expect(await json('push', '--task', gone)).toMatchObject([
      { taskId: gone, status: 'disabled', dueInMs: null, lastError: expect.stringContaining('410') },
    ]);
    await until(deadLetters, (rows) => rows.length === 2);
    expect(await json('push', 'dead', '--task', bad)).toMatchObject([
      {
        taskId: bad,
        configId: 'hook',
        seq: 2,
        attempts: 1,
        status: 'dead',
        error: expect.stringContaining('400'),
      },
      { taskId: bad, seq: 1 },
    ]);
    const shown = (await run('push')).out + (await run('push', 'dead')).out;
    expect(shown).toContain('127.0.0.1');
    expect(shown).not.toMatch(/hidden|secret/);

    for (const [hook] of statuses) if (!hook.startsWith('/down')) statuses.set(hook, 200);
    expect(await json('push', 'retry', gone)).toEqual({ taskId: gone, configs: 1, deadLetters: 0 });
    expect((await run('push', 'retry', bad, 'hook')).out).toContain('2 dead letters');
    await until(deadLetters, (rows) => rows.every(({ status }) => status === 'delivered'));
    await until(deliveries, (rows) => rows.every(({ taskId }) => taskId === down));
    expect(received).toEqual(expect.arrayContaining([`/gone?key=hidden ${gone}:1:hook`]));
    for (const [hook] of statuses) statuses.set(hook, 200);
    expect(await json('push', 'retry', down)).toMatchObject({ configs: 1 });
    await until(deliveries, (rows) => rows.length === 0);
    expect((await run('push')).out).toBe('No delivery waits.\n');
  });

  test('and their numbers are among the metrics', async () => {
    const logger = createSilentLogger();
    const bad = await pushed('/worse', 404);
    const { counts, deadLetters } = cluster.operator.push;
    await until(
      () => deadLetters({ taskId: bad }),
      (rows) => rows.length === 2,
    );
    const read = async (): Promise<Record<string, number>> =>
      Object.fromEntries(
        (await pushReadings(cluster, logger)).map(({ name, labels, value }) => [
          `${name}${labels ? `:${labels['end'] ?? ''}` : ''}`,
          value,
        ]),
      );
    const readings = await read();
    expect(readings['a2a_cluster_push_attempts_total:rejected']).toBeGreaterThanOrEqual(2);
    expect(readings['a2a_cluster_push_attempts_total:buried']).toBeGreaterThanOrEqual(2);
    expect(readings['a2a_cluster_push_dead_letters']).toBe((await counts()).deadLetters);
    expect(readings).toMatchObject({ a2a_cluster_push_in_flight: 0, a2a_cluster_push_disabled: 0 });
    const away = { ...cluster.operator.push, counts: () => Promise.reject(new Error('away')) };
    const without = await pushReadings(
      { operator: { ...cluster.operator, push: away }, status: () => cluster.status() },
      logger,
    );
    expect(without.map(({ name }) => name)).not.toContain('a2a_cluster_push_waiting');
    expect(without.length).toBeGreaterThan(0);
  });

  test('say when there is nothing to try again', async () => {
    expect(await run('push', 'retry', 'nobody')).toMatchObject({ code: 1 });
    expect(await json('push', '--task', 'a\u0001b')).toEqual([]);
  });
});
