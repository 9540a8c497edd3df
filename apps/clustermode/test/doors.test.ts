import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { freePorts, killAll, listening, needBuild, starter, type Run } from './command.js';
import { rpc, userMessage, v1 } from './fixture.js';
import { Issuer } from './issuer.js';

const OPERATOR_TOKEN = 'operator-0123456789';
let database: TestDatabase;
let folder: string;
let issuer: Issuer;
const start = starter(() => ({ folder, databaseUrl: database.url }));

beforeAll(async () => {
  needBuild();
  database = await createTestDatabase({ provider: 'sqlite' });
  folder = await mkdtemp(path.join(tmpdir(), 'clustermode-doors-'));
  issuer = await Issuer.start();
});

afterEach(killAll);

afterAll(async () => {
  await issuer.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function operatorOf(run: Run): Promise<string> {
  const [, port] = await run.said(/"port":(\d+),[^\n]*"msg":"listening for operators"/);
  return `http://127.0.0.1:${port}`;
}

async function statusOf(url: string, token = ''): Promise<number> {
  return (await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} })).status;
}

async function call(url: string, body: object, token: string): Promise<Record<string, unknown>> {
  const headers = { ...v1, 'Content-Type': 'application/json', authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/a2a/jsonrpc`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as Record<string, unknown>;
}

describe('serve does not start', () => {
  test('with half of the settings of JWT, and names the rest', async () => {
    const run = start(['serve'], { AUTH_JWKS_URL: 'https://issuer.test/keys' });
    expect(await run.ended).toBe(78);
    for (const name of ['AUTH_JWT_ISSUER', 'AUTH_JWT_AUDIENCE'])
      expect(run.err()).toMatch(new RegExp(`^ *${name} must be set when AUTH_JWKS_URL is$`, 'm'));
  });

  test('with a file of keys that is not there', async () => {
    const keys = { AUTH_JWKS_URL: 'file:gone.json', AUTH_JWT_ISSUER: 'i', AUTH_JWT_AUDIENCE: 'a' };
    const run = start(['serve'], keys);
    expect(await run.ended).toBe(78);
    expect(run.err()).toMatch(/^clustermode: AUTH_JWKS_URL .*gone\.json/);
  });

  test('on a port for the operator that is taken', async () => {
    const port = await freePorts();
    const other = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const run = start(['serve'], { OPERATOR_PORT: String(port) });
    expect(await run.ended).toBe(1);
    expect(run.err()).toMatch(/OPERATOR_HOST, OPERATOR_PORT\): the port is in use/);
    other.close();
  });
});

describe('serve', () => {
  test('takes tokens of the operator and of an issuer, and declares both', async () => {
    const file = path.join(folder, 'keys.json');
    await writeFile(file, await (await fetch(issuer.jwksUrl)).text());
    const run = start(['serve'], {
      AUTH_TOKENS: 'tok-a=alice',
      AUTH_JWKS_URL: 'file:keys.json',
      AUTH_JWT_ISSUER: issuer.issuer,
      AUTH_JWT_AUDIENCE: issuer.audience,
      LOG_LEVEL: 'debug',
    });
    const url = await listening(run);
    const jwt = await issuer.token();
    const sent = await call(url, rpc('SendMessage', { message: userMessage('ask what?') }), jwt);
    const { id } = (sent['result'] as { task: { id: string } }).task;
    expect(await call(url, rpc('GetTask', { id }), 'tok-a')).toMatchObject({ result: { id } });
    const hook = { taskId: id, url: 'http://127.0.0.1:9/?key=hunter2', token: 'hunter2' };
    const refused = await call(url, rpc('CreateTaskPushNotificationConfig', hook), jwt);
    expect(refused).toMatchObject({ error: { data: [{ metadata: { reason: 'WEBHOOK_ADDRESS_REFUSED' } }] } });
    const inline = { message: userMessage('done'), configuration: { taskPushNotificationConfig: hook } };
    expect(await call(url, rpc('SendMessage', inline), jwt)).toHaveProperty('error');
    await run.said(/"reason":"WEBHOOK_ADDRESS_REFUSED".*\n.*"reason":"WEBHOOK_ADDRESS_REFUSED"/);
    expect(await statusOf(`${url}/a2a/rest/tasks?token=${jwt}`, `${jwt}x`)).toBe(401);
    await run.said(/"detail":"SIGNATURE_WRONG"/);

    const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers: v1 })).json();
    expect(card).toMatchObject({
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
        jwt: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
      },
      securityRequirements: [{ schemes: { bearer: {} } }, { schemes: { jwt: {} } }],
    });
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(0);
    for (const secret of [jwt, 'tok-a', 'hunter2']) expect(run.out() + run.err()).not.toContain(secret);
  });

  test('gives the operator a listener of its own, with a door and without the routes of clients', async () => {
    const run = start(['serve'], { OPERATOR_PORT: '0', OPERATOR_TOKEN });
    const url = await listening(run);
    const operator = await operatorOf(run);
    expect(await statusOf(`${operator}/livez`)).toBe(200);
    expect(await statusOf(`${operator}/readyz`)).toBe(200);
    expect(await statusOf(`${operator}/metrics`)).toBe(401);
    expect(await statusOf(`${operator}/a2a/rest/tasks`, OPERATOR_TOKEN)).toBe(404);
    expect(await statusOf(`${url}/metrics`, OPERATOR_TOKEN)).toBe(404);
    expect(await statusOf(`${url}/readyz`)).toBe(200);
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
    const text = await (await fetch(`${operator}/metrics`, { headers })).text();
    expect(text).toMatch(/^a2a_cluster_ready 1$/m);
    expect(text).toMatch(/^a2a_cluster_running_turns 0$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(0);
    expect(run.out()).not.toContain(OPERATOR_TOKEN);
  });

  test('shows the routes of the operator on its one listener to this machine only, or for a token', async () => {
    const open = start(['serve']);
    expect(await statusOf(`${await listening(open)}/metrics`)).toBe(200);
    const closed = start(['serve'], { HOST: '0.0.0.0' });
    expect(await statusOf(`${await listening(closed)}/metrics`)).toBe(404);
    expect(closed.out()).toMatch(/"level":"warn".*the routes of the operator are closed/);
    const token = start(['serve'], { HOST: '0.0.0.0', OPERATOR_TOKEN });
    const url = await listening(token);
    expect(await statusOf(`${url}/metrics`)).toBe(401);
    expect(await statusOf(`${url}/metrics`, OPERATOR_TOKEN)).toBe(200);
    expect(token.out()).not.toMatch(/the routes of the operator are closed/);
  });
});

describe('up', () => {
  test('gives every replica a port for the operator', async () => {
    const base = await freePorts();
    const port = await freePorts();
    const run = start(['up', '--replicas', '2', '--base-port', String(base)], {
      OPERATOR_PORT: String(port),
    });
    for (const [index, name] of ['replica-1', 'replica-2'].entries()) {
      await run.said(new RegExp(`\\[${name}\\] .*"msg":"listening"`));
      expect(await statusOf(`http://127.0.0.1:${port + index}/metrics`)).toBe(200);
    }
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(0);
  });
});
