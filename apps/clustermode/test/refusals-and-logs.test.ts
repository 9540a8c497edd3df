import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { A2AError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import { captureConsole, createLog } from '../src/log.js';
import { createFixture, rpc, userMessage, v1 } from './fixture.js';

function refusing(error: Error): ReturnType<typeof createFixture> {
  return createFixture({
    instead: {
      sendMessage: () => Promise.reject(error),
      // eslint-disable-next-line require-yield
      sendMessageStream: async function* () {
        throw error;
      },
    },
  });
}

const draining = new A2AError({
  message: 'This replica is shutting down.',
  metadata: { reason: 'REPLICA_DRAINING', retryAfterMs: '2500' },
});

describe('a turn that this replica has no room for', () => {
  test.each(['message:send', 'message:stream'])('is 503 with Retry-After over REST: %s', async (verb) => {
    const { app } = refusing(draining);
    const answer = await request(app)
      .post(`/a2a/rest/${verb}`)
      .set(v1)
      .send({ message: userMessage('done') });
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('3');
    expect(answer.headers['content-type']).toMatch(/^application\/a2a\+json/);
    expect(answer.body.error).toMatchObject({ code: 503, status: 'UNAVAILABLE' });
    expect(answer.body.error.details[0].metadata).toEqual({
      reason: 'REPLICA_DRAINING',
      retryAfterMs: '2500',
    });
  });

  test('keeps its code over JSON-RPC', async () => {
    const { app } = refusing(draining);
    const answer = await request(app)
      .post('/a2a/jsonrpc')
      .set(v1)
      .send(rpc('SendMessage', { message: userMessage('done') }));
    expect(answer.status).toBe(200);
    expect(answer.headers['retry-after']).toBe('3');
    expect(answer.body.error).toMatchObject({
      code: -32603,
      data: [{ metadata: { reason: 'REPLICA_DRAINING' } }],
    });
  });

  test('is 503 for a client of A2A 0.3 too', async () => {
    const { app } = refusing(draining);
    const message = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'done' }] };
    const answer = await request(app).post('/a2a/rest/v1/message:send').send({ message });
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '3']);
  });

  test('is not what a busy task is', async () => {
    const busy = new UnsupportedOperationError({ metadata: { reason: 'TASK_BUSY', retryAfterMs: '5000' } });
    const answer = await request(refusing(busy).app)
      .post('/a2a/rest/message:send')
      .set(v1)
      .send({ message: userMessage('x') });
    expect(answer.status).toBe(400);
    expect(answer.headers['retry-after']).toBeUndefined();
  });
});

describe('the log', () => {
  function lines(): { log: ReturnType<typeof createLog>; read: () => Record<string, unknown>[] } {
    const written: string[] = [];
    const destination = { write: (line: string) => void written.push(line) };
    const log = createLog({ level: 'debug', destination });
    return { log, read: () => written.map((line) => JSON.parse(line)) };
  }

  test('is JSON lines with the level by name', () => {
    const { log, read } = lines();
    log.info({ taskId: 't', epoch: 1 }, 'a turn began');
    expect(read()).toEqual([
      {
        level: 'info',
        time: expect.any(String),
        pid: process.pid,
        taskId: 't',
        epoch: 1,
        msg: 'a turn began',
      },
    ]);
  });

  test('shows no secret', () => {
    const { log, read } = lines();
    const err = new Error('cannot reach postgres://admin:hunter2@db:5432/x');
    log.error(
      { err, token: 'hunter2', config: { credentials: 'hunter2', databaseUrl: 'hunter2' } },
      'no database',
    );
    log.warn({ headers: { authorization: 'Bearer hunter2' } }, 'mysql://root:hunter2@h/x is slow');
    log.warn({}, 'nobody at https://hooks.test/a?key=hunter2&more=1, it seems');
    expect(JSON.stringify(read())).not.toMatch(/hunter2/);
    expect(JSON.stringify(read())).toMatch(/postgres:\/\/\*\*\*@db/);
    expect(read().at(-1)).toMatchObject({ msg: 'nobody at https://hooks.test/a?*** it seems' });
  });

  test('takes what libraries print', () => {
    const { log, read } = lines();
    const target = { ...console };
    captureConsole(log, target as Console);
    target.error('Pre-stream error for request 7:', new TaskNotFoundError('Task not found: 7'));
    target.log('my agent has %d parts', 3, { a: 1 });
    target.error('my agent failed');
    expect(read()).toMatchObject([
      { level: 'debug', msg: 'Pre-stream error', reason: 'TASK_NOT_FOUND' },
      { level: 'info', msg: 'my agent has 3 parts { a: 1 }' },
      { level: 'error', msg: 'my agent failed' },
    ]);
  });
});
