import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { startConsole, post, type CallOptions, type ConsoleReplica } from './replica.js';

const OPERATOR = 'operator-0123456789';
const CONSOLE = 'console-0123456789';

let replica: ConsoleReplica;
let held: string;

beforeAll(async () => {
  replica = await startConsole({
    cluster: { database: createMemoryDatabase() },
    operator: { token: OPERATOR, consoleToken: CONSOLE },
  });
  held = (await replica.send('sleep 600000')).id;
});

afterAll(() => replica.close());

/** As somebody who may act. */
function api(path: string, options: CallOptions = {}): ReturnType<ConsoleReplica['call']> {
  return replica.call(`/api/${path}`, { token: CONSOLE, ...options });
}

describe('what is malformed', () => {
  const longId = 'x'.repeat(192);
  const get: readonly (readonly [string, string])[] = [
    ['a state that does not exist', 'tasks?state=TASK_STATE_DANCING'],
    ['a state without its prefix', 'tasks?state=working'],
    ['an empty state', 'tasks?state='],
    ['no limit at all', 'tasks?limit='],
    ['a limit of none', 'tasks?limit=0'],
    ['a limit below none', 'tasks?limit=-1'],
    ['a huge limit', 'tasks?limit=201'],
    ['a limit beyond numbers', `tasks?limit=${'9'.repeat(400)}`],
    ['a broken limit', 'tasks?limit=1.5'],
    ['a limit in hex', 'tasks?limit=0x10'],
    ['two limits', 'tasks?limit=1&limit=2'],
    ['an age that is none', 'tasks?olderThanMs=yesterday'],
    ['an age beyond the calendar', 'tasks?olderThanMs=999999999999999'],
    ['a forged cursor', 'tasks?cursor=abc'],
    ['an empty cursor', 'tasks?cursor='],
    ['a cursor of another form', `tasks?cursor=${Buffer.from('{"a":1}').toString('base64url')}`],
    ['a cursor with a text for its time', `tasks?cursor=${Buffer.from('["x","y"]').toString('base64url')}`],
    ['a cursor of no time', `tasks?cursor=${Buffer.from('[1e300,"y"]').toString('base64url')}`],
    ['a cursor with an id that cannot be', `tasks?cursor=${Buffer.from('[1,"a\\u0000"]').toString('base64url')}`],
    ['a cursor with more in it', `tasks?cursor=${Buffer.from('[1,"a",2]').toString('base64url')}`],
    ['a holder that cannot be', 'tasks?holder=%00'],
    ['an owner that is too long', `tasks?owner=${longId}`],
    ['a tenant that ends in a space', 'tasks?tenant=a%20'],
    ['a context twice', 'tasks?context=a&context=b'],
    ['a broken escape in the query', 'tasks?owner=%FF'],
    ['a broken escape in the path', 'tasks/%FF'],
    ['an id with NUL', 'tasks/a%00b'],
    ['an id that is too long', `tasks/${longId}`],
    ['an id with a lone surrogate', 'tasks/%ED%A0%80'],
    ['an id of events that is too long', `tasks/${longId}/events`],
    ['a seq below none', 'tasks/KNOWN/events?after=-1'],
    ['a seq beyond the column', 'tasks/KNOWN/events?after=2147483648'],
    ['too many events', 'tasks/KNOWN/events?limit=501'],
    ['a watched task that cannot be', 'live?task=%00'],
    ['too many watched tasks', `live?${Array.from({ length: 201 }, (_, at) => `task=t${at}`).join('&')}`],
  ];

  test.each(get)('%s is answered 400', async (_name, path) => {
    const answer = await api(path.replace('KNOWN', held));
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } });
    expect(answer.json.error.message).toMatch(/^[A-Za-z].*\.$/);
  });

  const body = (text: string, type = 'application/json'): CallOptions => ({
    method: 'POST',
    headers: { 'content-type': type },
    body: text,
  });
  const acts: readonly (readonly [string, number, string, CallOptions])[] = [
    ['a body that is no JSON', 400, 'tasks/KNOWN/retry-push', body('{')],
    ['a form', 400, 'tasks/KNOWN/cancel', body('a=b', 'application/x-www-form-urlencoded')],
    ['an empty form', 400, 'tasks/KNOWN/cancel', body('', 'text/plain')],
    ['a body without a type', 400, 'tasks/KNOWN/cancel', { method: 'POST', body: '{}' }],
    ['a body of no UTF-8', 400, 'tasks/KNOWN/retry-push', body('{}', 'application/json; charset=utf-99')],
    ['a body that is too long', 413, 'tasks/KNOWN/retry-push', body(`"${'x'.repeat(17_000)}"`)],
    ['a webhook that is no text', 400, 'tasks/KNOWN/retry-push', post({ configId: 7 })],
    ['a webhook that cannot be', 400, 'tasks/KNOWN/retry-push', post({ configId: 'a\u0000' })],
    ['a task that cannot be', 400, 'tasks/a%00/cancel', post()],
    ['a replica that cannot be', 400, `replicas/${longId}/drain`, post()],
  ];

  test.each(acts)('%s is answered %i', async (_name, status, path, options) => {
    const answer = await api(path.replace('KNOWN', held), options);
    expect([answer.status, answer.json?.error.code]).toEqual([status, status]);
    expect(replica.cluster.status().runningTurns).toBe(1);
  });

  test('other paths are not there, other methods are told so', async () => {
    expect((await api('nothing')).status).toBe(404);
    expect((await api('tasks/a/b/c')).status).toBe(404);
    const answer = await api('tasks/a/cancel');
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
    expect((await api('tasks', post())).headers['allow']).toBe('GET, HEAD');
  });

  test('nothing of it was a fault of ours', () => {
    expect(replica.kept.lines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });
});

describe('the door', () => {
  test('of the API wants either token', async () => {
    for (const token of [OPERATOR, CONSOLE]) {
      const answer = await replica.call('/api/overview', { token });
      expect([answer.status, answer.json.mayAct]).toEqual([200, token === CONSOLE]);
    }
    for (const token of [undefined, `${OPERATOR}x`, 'x']) {
      const answer = await replica.call('/api/overview', token === undefined ? {} : { token });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(answer.json.error).toMatchObject({ code: 401, status: 'UNAUTHENTICATED' });
    }
  });

  test('of acting wants the token of the console', async () => {
    const answer = await api(`tasks/${held}/cancel`, { ...post(), token: OPERATOR });
    expect([answer.status, answer.json.error.message]).toEqual([403, expect.stringContaining('CONSOLE_TOKEN')]);
    expect((await api(`tasks/${held}/cancel`, { method: 'POST', token: '' })).status).toBe(401);
    expect(replica.cluster.status().runningTurns).toBe(1);
  });

  test('of acting does not open to another site', async () => {
    const { host } = new URL(replica.url);
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await api(`tasks/${held}/cancel`, { method: 'POST', headers });
      expect([answer.status, answer.json.error.status]).toEqual([403, 'PERMISSION_DENIED']);
    }
    const own = { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
    const answer = await api('tasks/nobody/cancel', { method: 'POST', headers: own });
    expect([answer.status, answer.json]).toMatchObject([200, { ok: false, outcome: 'not_found' }]);
  });

  test('leaves a line for each refusal', async () => {
    const lines = await replica.kept.audited(1);
    expect(lines.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['UNAUTHENTICATED', 'PERMISSION_DENIED', 'INVALID_PARAMS']),
    );
    expect(JSON.stringify(lines)).not.toContain(CONSOLE);
  });
});

describe('without a token', () => {
  test('this machine alone is answered, and by its own name', async () => {
    const open = await startConsole({ cluster: { database: createMemoryDatabase() } });
    try {
      expect((await open.call('/api/overview')).json.mayAct).toBe(true);
      const rebound = await open.call('/api/overview', { headers: { host: 'evil.example' } });
      expect([rebound.status, rebound.json.error.message]).toEqual([403, expect.stringContaining('CONSOLE_TOKEN')]);
    } finally {
      await open.close();
    }
  });

  test('on a public address there is nothing, the page included', async () => {
    const closed = await startConsole({
      cluster: { database: createMemoryDatabase() },
      mainHost: '0.0.0.0',
    });
    try {
      for (const path of ['', '/', '/tasks', '/api/overview', '/assets/x.js'])
        expect([path, (await closed.call(path)).status]).toEqual([path, 404]);
    } finally {
      await closed.close();
    }
  });
});
