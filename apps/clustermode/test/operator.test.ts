import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createMetrics, type Metrics, type Reading } from '../src/operator/metrics.js';
import { createOperatorApp } from '../src/operator/operator-app.js';
import { operatorAccessOf, operatorRoutes, type OperatorAccess } from '../src/operator/operator-routes.js';
import { createFixture, v1, type Fixture } from './fixture.js';
import { keepLog } from './log-lines.js';

const TOKEN = 'operator-0123456789';
const kept = keepLog();

function metricsOf(readings: readonly Reading[] = []): Metrics {
  return createMetrics({ collect: () => readings, logger: kept.log, ofProcess: false });
}

/** The main listener, with the routes of the operator among those of clients. */
function serverWith(access: OperatorAccess): Fixture {
  const operator = operatorRoutes({ access, routes: { '/metrics': metricsOf().handler } });
  return createFixture({ authTokens: 'tok-a=alice', operator, logger: kept.log });
}

describe('the routes of the operator among those of clients', () => {
  test('want the token of the operator, and no token of a client', async () => {
    const { app } = serverWith({ token: TOKEN });
    const get = (token?: string): request.Test =>
      request(app)
        .get('/metrics')
        .set(token === undefined ? {} : { authorization: `Bearer ${token}` });
    expect((await get(TOKEN)).status).toBe(200);
    for (const wrong of [undefined, 'tok-a', `${TOKEN}x`, TOKEN.toUpperCase()]) {
      const answer = await get(wrong);
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    }
  });

  test('give the operator no way to the routes of clients', async () => {
    const { app } = serverWith({ token: TOKEN });
    const answer = await request(app)
      .get('/a2a/rest/tasks')
      .set({ ...v1, authorization: `Bearer ${TOKEN}` });
    expect(answer.status).toBe(401);
  });

  test('are not there when they are closed, with any token', async () => {
    const { app } = serverWith('closed');
    for (const path of ['/metrics', '/metrics/', '/METRICS', '/metrics/deep'])
      for (const token of [TOKEN, 'tok-a', ''])
        expect(
          (
            await request(app)
              .get(path)
              .set({ authorization: `Bearer ${token}` })
          ).status,
        ).toBe(404);
  });

  test('want nothing when they are open, and leave the other routes their door', async () => {
    const { app } = serverWith('open');
    expect((await request(app).get('/metrics')).status).toBe(200);
    expect((await request(app).get('/metrics/deep')).status).toBe(404);
    expect((await request(app).get('/nothing')).status).toBe(401);
    expect((await request(app).get('/a2a/rest/tasks').set(v1)).status).toBe(401);
  });

  test('are open, closed or behind a token by what is set', () => {
    const on = { port: undefined, host: '127.0.0.1', token: undefined };
    expect(operatorAccessOf(on, '127.0.0.1')).toBe('open');
    expect(operatorAccessOf(on, '0.0.0.0')).toBe('closed');
    expect(operatorAccessOf({ ...on, port: 9 }, '0.0.0.0')).toBe('open');
    expect(operatorAccessOf({ ...on, token: TOKEN }, '127.0.0.1')).toEqual({ token: TOKEN });
    expect(operatorAccessOf({ ...on, port: 9, token: TOKEN }, '0.0.0.0')).toEqual({ token: TOKEN });
  });
});

describe('the listener of the operator', () => {
  const routes = operatorRoutes({ access: { token: TOKEN }, routes: { '/metrics': metricsOf().handler } });
  const health = { ready: true, reasons: [] };
  const app = createOperatorApp({ routes, health: () => health, logger: kept.log });

  test('answers the health routes without a token, its own with it, and nothing else', async () => {
    expect((await request(app).get('/livez')).status).toBe(200);
    expect((await request(app).get('/readyz')).body.ready).toBe(true);
    expect((await request(app).get('/metrics')).status).toBe(401);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await request(app).get('/metrics').set(headers);
    expect([answer.status, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect((await request(app).post('/a2a/jsonrpc').set(headers).send({})).status).toBe(404);
    expect(answer.headers).not.toHaveProperty('x-powered-by');
  });

  test('says at /livez why the process should be started anew, whether it is ready or not', async () => {
    const stuck = { ready: true, reasons: [], alive: false, notAlive: ['the heartbeat has not run'] };
    const sick = createOperatorApp({ routes, health: () => stuck, logger: kept.log });
    const answer = await request(sick).get('/livez');
    expect([answer.status, answer.headers['cache-control']]).toEqual([503, 'no-store']);
    expect(answer.body).toEqual({ alive: false, reasons: ['the heartbeat has not run'], pid: process.pid });
    expect((await request(sick).get('/readyz')).status).toBe(200);
    const draining = { ready: false, reasons: ['draining'], alive: true, notAlive: [] };
    const well = createOperatorApp({ routes, health: () => draining, logger: kept.log });
    expect((await request(well).get('/livez')).status).toBe(200);
  });

  test('writes a line for a token it refuses', async () => {
    const before = (await kept.audited(0)).length;
    await request(app).get('/metrics?token=x').set({ authorization: 'Bearer hunter2' });
    const line = (await kept.audited(before + 1)).at(-1);
    expect(line).toMatchObject({ reason: 'UNAUTHENTICATED', route: '/metrics', status: 401 });
    expect(JSON.stringify(kept.lines())).not.toMatch(/hunter2/);
  });
});

describe('the metrics', () => {
  async function textOf(metrics: Metrics): Promise<{ text: string; type: string }> {
    const routes = operatorRoutes({ access: 'open', routes: { '/metrics': metrics.handler } });
    const health = { ready: true, reasons: [] };
    const app = createOperatorApp({ routes, health: () => health, logger: kept.log });
    const { text, headers } = await request(app).get('/metrics');
    return { text, type: String(headers['content-type']) };
  }

  test('are in the form of Prometheus: those of the process, those that are counted, and the readings', async () => {
    const readings: Reading[] = [
      { type: 'gauge', name: 'a2a_turns', help: 'Turns', value: 3 },
      { type: 'counter', name: 'a2a_sent_total', help: 'Sent', value: 5, labels: { to: 'a' } },
      { type: 'counter', name: 'a2a_sent_total', help: 'Sent', value: 7, labels: { to: 'b"' } },
    ];
    const metrics = createMetrics({ collect: async () => readings, logger: kept.log });
    metrics.gauge({ name: 'a2a_depth', help: 'Depth' }).set(4);
    const pushes = metrics.counter({ name: 'a2a_pushes_total', help: 'Pushes', labels: ['outcome'] });
    pushes.add(1, { outcome: 'sent' });
    pushes.add(2, { outcome: 'sent' });
    const { text, type } = await textOf(metrics);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(text).toMatch(/^# HELP a2a_turns Turns\n# TYPE a2a_turns gauge\na2a_turns 3$/m);
    expect(text).toMatch(/^# TYPE a2a_sent_total counter$/m);
    expect(text).toMatch(/^a2a_sent_total\{to="a"\} 5$/m);
    expect(text).toMatch(/^a2a_sent_total\{to="b\\""\} 7$/m);
    expect(text).toMatch(/^a2a_depth 4$/m);
    expect(text).toMatch(/^a2a_pushes_total\{outcome="sent"\} 3$/m);
    expect(text.endsWith('\n')).toBe(true);
    expect(text).not.toMatch(/\n\n\n/);
  });

  test('show a reading as it is now, and not what is read no more', async () => {
    let readings: Reading[] = [
      { type: 'gauge', name: 'a', help: 'A', value: 1 },
      { type: 'counter', name: 'b_total', help: 'B', value: 2 },
    ];
    const metrics = createMetrics({ collect: () => readings, logger: kept.log, ofProcess: false });
    expect((await textOf(metrics)).text).toMatch(/^a 1$/m);
    readings = [{ type: 'counter', name: 'b_total', help: 'B', value: 3 }];
    const { text } = await textOf(metrics);
    expect(text).toMatch(/^b_total 3$/m);
    expect(text).not.toMatch(/^a /m);
  });

  test('are shown without the readings when these fail', async () => {
    const collect = (): never => {
      throw new Error('no reading today');
    };
    const metrics = createMetrics({ collect, logger: kept.log, ofProcess: false });
    metrics.gauge({ name: 'still', help: 'Still there' }).set(1);
    const { text } = await textOf(metrics);
    expect(text).toMatch(/^still 1$/m);
    expect(text).not.toMatch(/no reading/);
    expect(kept.lines().some(({ msg }) => /no reading today/.test(String(msg)))).toBe(true);
  });
});
