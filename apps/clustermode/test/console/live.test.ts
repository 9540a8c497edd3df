import { afterEach, describe, expect, test } from '@jest/globals';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, startCapture } from '@a2a-cluster/testing';
import type { Cluster } from '@a2a-cluster/cluster';
import type { ConsoleSource } from '../../src/console/source.js';
import {
  openPage,
  post,
  startConsole,
  type ConsoleReplica,
  type OpenPage,
  type StartOptions,
} from './replica.js';

let replica: ConsoleReplica | undefined;
const pages: OpenPage[] = [];

afterEach(async () => {
  for (const page of pages.splice(0)) page.leave();
  await replica?.close();
  replica = undefined;
});

async function start(options: StartOptions = {}): Promise<ConsoleReplica> {
  replica = await startConsole({ cluster: { database: createMemoryDatabase() }, ...options });
  return replica;
}

async function open({ url }: ConsoleReplica, query = '', token?: string): Promise<OpenPage> {
  const page = await openPage(`${url}/console/api/live${query}`, token);
  pages.push(page);
  return page;
}

/** The cluster, with another reading of some of it. */
function seenThrough(change: (own: Cluster) => Partial<ConsoleSource['operator']>) {
  return (own: Cluster): ConsoleSource => ({
    status: () => own.status(),
    operator: { ...own.operator, ...change(own) },
  });
}

describe('an open page', () => {
  test('gets the overview at once, and again when something is other', async () => {
    const running = await start({ hub: { lookMs: 20, countsFreshMs: 20 } });
    const page = await open(running);
    expect(page.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const { data } = await page.until(({ name }) => name === 'overview');
    expect(data).toMatchObject({ provider: 'memory', hints: 'poll', mayAct: true, live: {} });
    await running.send('sleep 600000');
    const later = await page.until(({ data: overview }) => overview.replicas?.[0]?.runningTurns === 1);
    expect(later.data.replicas[0]).toMatchObject({ health: 'alive', phase: 'running', heldLeases: 1 });
    await page.until(({ data: overview }) => overview.live?.TASK_STATE_SUBMITTED === 1);
  });

  test('sees the charts grow, and their past when it comes later', async () => {
    const running = await start({ hub: { lookMs: 20 } });
    const first = await open(running);
    const { data } = await first.until(({ data: overview }) => overview.samples?.length >= 3);
    const second = await open(running);
    const { data: atOnce } = await second.until(({ name }) => name === 'overview');
    expect(atOnce.samples.length).toBeGreaterThanOrEqual(data.samples.length);
    expect(Object.values(atOnce.samples[0]).every(Number.isFinite)).toBe(true);
  });

  test('gets what changes about the tasks it names, and of no others', async () => {
    const running = await start();
    const { id } = await running.send('sleep 600000');
    const page = await open(running, `?task=${id}&task=nobody`);
    const { data } = await page.until(({ name, data: change }) => name === 'task' && change.taskId === id);
    expect(data).toMatchObject({ gone: false, lease: { epoch: 1 } });
    await running.send('done other');
    await running.call(`/api/tasks/${id}/cancel`, post());
    const ended = await page.until(({ data: change }) => change.state === 'TASK_STATE_CANCELED');
    expect(ended.data).toMatchObject({ taskId: id, lease: null });
    const named = page.events.filter(({ name }) => name === 'task').map(({ data: change }) => change.taskId);
    expect(new Set(named)).toEqual(new Set([id]));
  });

  test('says for itself whether it may act', async () => {
    const tokens = { token: 'operator-0123456789', consoleToken: 'console-0123456789' };
    const running = await start({ operator: tokens });
    for (const [token, mayAct] of [
      [tokens.token, false],
      [tokens.consoleToken, true],
    ] as const) {
      const page = await open(running, '', token);
      const { data } = await page.until(({ name }) => name === 'overview');
      expect(data.mayAct).toBe(mayAct);
    }
  });

  test('is freed when it goes: its place, and its watches', async () => {
    let watches = 0;
    const over = seenThrough(({ operator }) => ({
      tasks: {
        ...operator.tasks,
        watch: (watch) => {
          watches += 1;
          const end = operator.tasks.watch(watch);
          return () => {
            watches -= 1;
            end();
          };
        },
      },
    }));
    const running = await start({ over, hub: { mostPages: 1 } });
    const page = await open(running, '?task=a');
    await page.until(({ name }) => name === 'overview');
    const full = await running.call('/api/live');
    expect([full.status, full.headers['retry-after'], full.json.error.details[0].reason]).toEqual([
      ...[503, '10', 'TOO_MANY_PAGES'],
    ]);
    expect(watches).toBe(1);
    page.leave();
    const next = await placeOf(running);
    expect(watches).toBe(0);
    next.leave();
  });

  test('ends cleanly when the replica closes, and none is opened after', async () => {
    const running = await start();
    const page = await open(running);
    await page.until(({ name }) => name === 'overview');
    running.console.close();
    expect(await page.ended).toBe(true);
    expect((await running.call('/api/live')).status).toBe(503);
  });

  test('that reads nothing is not written to without end, and gets the newest when it reads', async () => {
    const { over, asked } = everGrowing();
    const running = await start({ over, hub: { lookMs: 1, sampleGapMs: 60_000 } });
    const page = await open(running);
    const first = await page.until(({ name }) => name === 'overview');
    page.pause();
    const began = asked();
    const reader = await open(running);
    await reader.until(() => reader.events.length > 400);
    const atPause = asked();
    page.resume();
    await page.until(({ data }) => versionOf(data) >= atPause);
    expect(asked() - began).toBeGreaterThan(400);
    // Of some 400 overviews of 40 kB it got what the buffers between had taken, and then the newest.
    const got = page.events.filter(({ data }) => versionOf(data) < atPause).length;
    expect(got).toBeLessThan(300);
    expect(versionOf(first.data)).toBeGreaterThan(0);
  });

  test('shows a sign of life while nothing happens', async () => {
    const page = await open(await start({ aliveMs: 20, hub: { lookMs: 600_000 } }));
    await page.alive();
    await page.alive();
    expect(page.events.length).toBeLessThanOrEqual(1);
  });

  test('that takes nothing from one sign of life to the next is cut off', async () => {
    const { over } = everGrowing();
    const running = await start({
      over,
      aliveMs: 500,
      hub: { lookMs: 1, mostPages: 1, sampleGapMs: 60_000 },
    });
    const page = await open(running);
    await page.until(({ name }) => name === 'overview');
    page.pause();
    const next = await placeOf(running);
    await next.until(({ name }) => name === 'overview');
  });
});

/** A cluster with 40 kB of news at every look. */
function everGrowing(): { readonly over: StartOptions['over'] & {}; asked(): number } {
  const filler = 'x'.repeat(40_000);
  let asked = 0;
  const over = seenThrough(({ operator }) => ({
    replicas: {
      ...operator.replicas,
      known: () => {
        asked += 1;
        const { replicas, ageMs } = operator.replicas.known();
        return { ageMs, replicas: replicas.map((row) => ({ ...row, version: `${asked}-${filler}` })) };
      },
    },
  }));
  return { over, asked: () => asked };
}

function versionOf(overview: { replicas: { version: string }[] }): number {
  return Number(overview.replicas[0]?.version.split('-')[0] ?? 0);
}

/** A place, once there is one. */
async function placeOf(running: ConsoleReplica): Promise<OpenPage> {
  for (;;) {
    const page = await open(running);
    if (page.headers['content-type'] === 'text/event-stream') return page;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const postgresql = availableProviders().includes('postgresql') ? test : test.skip;

describe('the database', () => {
  postgresql('is asked no more by twenty pages than by one', async () => {
    const database = await createTestDatabase({ provider: 'postgresql' });
    const capture = startCapture('postgresql');
    try {
      const running = await start({
        cluster: { databaseUrl: database.url, lease: { ttlMs: 30_000, heartbeatMs: 250 } },
        hub: { lookMs: 50, countsFreshMs: 500 },
      });
      const { id } = await running.send('sleep 600000');
      const beats = async (page: OpenPage, count: number): Promise<number> => {
        const seen = new Set<number>();
        capture.take();
        page.events.length = 0;
        await page.until(({ data }) => {
          for (const { data: overview } of page.events) seen.add(overview.samples?.length);
          return seen.size > count && data !== undefined;
        });
        return capture.take().length;
      };
      const first = await open(running, `?task=${id}`);
      await beats(first, 2);
      const withOne = await beats(first, 12);
      for (let at = 0; at < 19; at += 1) await open(running, `?task=${id}`);
      await Promise.all(pages.map((page) => page.until(({ name }) => name === 'task')));
      const withTwenty = await beats(first, 12);
      process.stdout.write(`statements in 12 heartbeats: 1 page ${withOne}, 20 pages ${withTwenty}\n`);
      expect(withTwenty).toBeLessThanOrEqual(withOne + 6);
    } finally {
      for (const page of pages.splice(0)) page.leave();
      await replica?.close();
      replica = undefined;
      capture.stop();
      await database.drop();
    }
  });
});
