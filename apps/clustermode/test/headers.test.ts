import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createFixture, rpc, userMessage, v1 } from './fixture.js';

describe('the headers of an answer', () => {
  // Without the fixture's outer app, which has headers of its own.
  const { bare } = createFixture();

  test.each(['/livez', '/.well-known/agent-card.json', '/a2a/rest/tasks', '/nothing'])(
    'say nothing of the server, and no browser may guess what it is: %s',
    async (path) => {
      const { headers } = await request(bare).get(path).set(v1);
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('strict-transport-security');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-frame-options']).toBe('SAMEORIGIN');
    },
  );

  test('keep what carries tasks out of caches and frames', async () => {
    const answers = [
      await request(bare).get('/a2a/rest/tasks').set(v1),
      await request(bare).get('/a2a/rest/tasks/none').set(v1),
      await request(bare).post('/a2a/jsonrpc').set(v1).send(rpc('ListTasks', {})),
    ];
    for (const { headers } of answers) {
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'");
    }
  });

  test('leave the card its caching', async () => {
    const { headers } = await request(bare).get('/.well-known/agent-card.json').set(v1);
    expect(headers['cache-control']).toBe('public, max-age=3600');
  });
});

describe('a stream', () => {
  test.each([
    ['/a2a/jsonrpc', rpc('SendStreamingMessage', { message: userMessage('tick 1 0; sleep 60000') })],
    ['/a2a/rest/message:stream', { message: userMessage('tick 1 0; sleep 60000') }],
  ])('hands on every event when it comes: %s', async (path, body) => {
    const server = createServer(createFixture().bare).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, {
      method: 'POST',
      headers: { ...v1, 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip, br' },
      body: JSON.stringify(body),
    });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    // The turn sleeps for a minute behind its first tick: only what is not held back comes before the test's end.
    let seen = '';
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes('tick 1/1')) break;
    }
    expect(seen).toMatch(/tick 1\/1/);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
