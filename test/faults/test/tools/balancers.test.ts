import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startIdleProxy } from '../../src/tools/idle-proxy.js';
import { hasTools } from '@a2a-cluster/testing';
import { missingNginx, startNginx, type LoadBalancer } from '../../src/tools/nginx.js';

const hasNginx = hasTools({ tests: 'nginx', missing: missingNginx() });

let replicas: Server[];
let balancer: LoadBalancer;
/** Streams that are open, by the name of their replica. */
let streams: { readonly name: string; readonly response: ServerResponse }[];

/** A replica that says its name and leaves the answer open. */
async function startReplica(name: string): Promise<Server> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(name);
    streams.push({ name, response });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

beforeAll(async () => {
  replicas = await Promise.all(['a', 'b'].map(startReplica));
});
afterEach(() => balancer.remove());
afterAll(() => {
  for (const replica of replicas) replica.closeAllConnections();
  for (const replica of replicas) replica.close();
});

const kinds: [string, (ports: number[]) => Promise<LoadBalancer>][] = [
  ['a proxy of this process', (ports) => startIdleProxy({ ports, idleMs: 1_000 })],
];
if (hasNginx) kinds.push(['nginx', (ports) => startNginx({ ports, idleS: 1 })]);

describe.each(kinds)('%s', (_, start) => {
  test('goes round, hands on what is said at once, and cuts what is idle but not what is kept alive', async () => {
    streams = [];
    balancer = await start(replicas.map((replica) => (replica.address() as AddressInfo).port));
    const open = async (): Promise<ReadableStreamDefaultReader<string>> => {
      // Kept alive: Node takes a cut for the end of an answer by a connection that was to close.
      const answer = await fetch(balancer.base, {
        method: 'POST',
        body: '',
      });
      if (!answer.body) throw new Error('no body');
      return answer.body.pipeThrough(new TextDecoderStream()).getReader();
    };
    const [kept, idle] = [await open(), await open()];
    const names = [(await kept.read()).value, (await idle.read()).value];
    expect(names.sort()).toEqual(['a', 'b']);
    const beat = setInterval(() => streams[0]?.response.write('.'), 300);
    try {
      await expect(idle.read()).rejects.toThrow();
      expect((await kept.read()).value).toMatch(/^\.+$/);
    } finally {
      clearInterval(beat);
    }
    await balancer.remove();
    await balancer.remove();
    await expect(fetch(balancer.base)).rejects.toThrow();
  });
});
