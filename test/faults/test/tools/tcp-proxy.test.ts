import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createDatabase } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase } from '@a2a-cluster/testing';
import { until } from '../../src/tools/processes.js';
import { startTcpProxy, type TcpProxy } from '../../src/tools/tcp-proxy.js';

/** A start-up message of PostgreSQL. */
function startup(applicationName: string): Buffer {
  const words = Buffer.from(`user\0postgres\0application_name\0${applicationName}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(words.length + 8, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, words]);
}

const HINTS = startup('a2a-cluster hints');
const REQUESTS = startup('a2a-cluster requests');

/** A client that keeps what it hears and how it ended. */
class Peer {
  heard = Buffer.alloc(0);
  end: 'open' | 'fin' | 'error' = 'open';
  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.heard = Buffer.concat([this.heard, chunk])));
    socket.on('error', () => (this.end = 'error'));
    socket.on('end', () => (this.end = 'fin'));
  }
  /** Sends and waits for the echo. */
  async ask(bytes: Buffer | string): Promise<void> {
    const want = this.heard.length + Buffer.byteLength(bytes);
    this.socket.write(bytes);
    await until(() => this.heard.length >= want || this.end !== 'open', { what: 'an echo', withinMs: 3_000 });
    if (this.end !== 'open') throw new Error(`ended by ${this.end}`);
  }
  async ended(): Promise<string> {
    await until(() => this.end !== 'open', { what: 'an end', withinMs: 3_000 });
    return this.end;
  }
}

let echo: Server;
let atServer: Set<Socket>;
let received: number;
let proxy: TcpProxy;
let peers: Peer[];

async function startEcho(): Promise<Server> {
  const server = createServer((socket) => {
    atServer.add(socket);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      socket.write(chunk);
    });
    socket.on('error', () => {});
    socket.on('close', () => atServer.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function open(): Promise<Peer> {
  const socket = connect(proxy.port, '127.0.0.1');
  const peer = new Peer(socket);
  peers.push(peer);
  await once(socket, 'connect');
  return peer;
}

beforeEach(async () => {
  atServer = new Set();
  received = 0;
  peers = [];
  echo = await startEcho();
  proxy = await startTcpProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port });
});

afterEach(async () => {
  await proxy.stop();
  for (const socket of [...atServer, ...peers.map((peer) => peer.socket)]) socket.destroy();
  echo.close();
});

test('bytes go through in order, whatever their number, and the end of one side is the end of both', async () => {
  const peer = await open();
  const much = Buffer.alloc(3_000_000, 'abcdefg');
  await peer.ask(much);
  expect(peer.heard.equals(much)).toBe(true);
  expect(proxy.counts()).toMatchObject({
    connections: 1,
    bytesToServer: 3_000_000,
    bytesToClient: 3_000_000,
  });
  peer.socket.end();
  await until(() => atServer.size === 0 && proxy.counts().connections === 0, {
    what: 'the end of both sides',
    withinMs: 2_000,
  });
});

test('the URL of the server becomes the URL of the proxy', () => {
  expect(proxy.through('postgresql://u:p%20w@127.0.0.1:5432/d?schema=s')).toBe(
    `postgresql://u:p%20w@127.0.0.1:${proxy.port}/d?schema=s`,
  );
});

test('a cut is a FIN, a reset is a RST, and new connections are served', async () => {
  const first = await open();
  await first.ask('x');
  proxy.cut();
  expect(await first.ended()).toBe('fin');
  const second = await open();
  await second.ask('x');
  proxy.reset();
  expect(await second.ended()).toBe('error');
  expect(proxy.counts().cuts).toBe(2);
  await (await open()).ask('x');
});

test('a shut door cuts and takes nobody; an open one does', async () => {
  const peer = await open();
  await peer.ask('x');
  proxy.shut();
  await peer.ended();
  await (await open()).ended();
  proxy.open();
  await (await open()).ask('x');
});

test('a black hole swallows bytes and ends, also of new connections, which stay dead when it is healed', async () => {
  const peer = await open();
  await peer.ask('x');
  proxy.blackhole('both');
  peer.socket.write('lost');
  const late = await open();
  late.socket.write('lost');
  await until(() => proxy.counts().swallowedBytes === 8, { what: 'eight lost bytes', withinMs: 2_000 });
  peer.socket.end('!');
  await until(() => proxy.counts().swallowedBytes === 9, { what: 'the ninth', withinMs: 2_000 });
  proxy.heal();
  late.socket.write('more');
  await until(() => proxy.counts().swallowedBytes === 13, { what: 'the rest', withinMs: 2_000 });
  expect([peer.end, late.end, received, atServer.size]).toEqual(['open', 'open', 1, 1]);
  await (await open()).ask('x');
});

test('a black hole of one way lets the other through', async () => {
  const peer = await open();
  await peer.ask('x');
  proxy.blackhole('toClient');
  peer.socket.write('heard');
  await until(() => received === 6, { what: 'the server to hear it', withinMs: 2_000 });
  await until(() => proxy.counts().swallowedBytes === 5, { what: 'its echo lost', withinMs: 2_000 });
  expect([peer.heard.length, peer.end]).toEqual([1, 'open']);
});

test('latency holds for each way and keeps the order, also while it is taken away', async () => {
  const peer = await open();
  proxy.delay(150);
  const began = performance.now();
  await peer.ask('a');
  expect(performance.now() - began).toBeGreaterThanOrEqual(290);
  peer.socket.write('b');
  await until(() => proxy.counts().bytesToServer === 2, { what: 'b on its way', withinMs: 2_000 });
  proxy.heal();
  await peer.ask('cd');
  await until(() => peer.heard.length === 4, { what: 'everything', withinMs: 2_000 });
  expect(peer.heard.toString()).toBe('abcd');
});

test('a share of chunks resets its connection', async () => {
  const draws = [0.5, 0.5, 0.05];
  proxy.resetShare(0.1, () => draws.shift() ?? 1);
  const peer = await open();
  await peer.ask('x');
  peer.socket.write('x');
  expect(await peer.ended()).toBe('error');
});

test('a lost answer: the server has heard the statement, its client hears nothing and is reset', async () => {
  proxy.loseAnswers(1, () => 0, { after: 'commit' });
  const peer = await open();
  await peer.ask('select');
  peer.socket.write('COMMIT');
  expect(await peer.ended()).toBe('error');
  expect([received, peer.heard.toString(), proxy.counts().lostAnswers]).toEqual([12, 'select', 1]);
});

test('faults for LISTEN connections leave others alone, and the other way round', async () => {
  const hints = await open();
  const requests = await open();
  // A start-up message may come in pieces, and after a request for TLS.
  await hints.ask(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]));
  await hints.ask(HINTS.subarray(0, 11));
  expect(proxy.counts().listening).toBe(0);
  await hints.ask(HINTS.subarray(11));
  await requests.ask(REQUESTS);
  expect(proxy.counts()).toMatchObject({ connections: 2, listening: 1 });
  proxy.shut('listen');
  await hints.ended();
  await requests.ask('x');
  const again = await open();
  again.socket.write(HINTS);
  await again.ended();
  proxy.heal();
  const healed = await open();
  await healed.ask(HINTS);
  proxy.blackhole('both', 'not_listen');
  requests.socket.write('lost');
  await healed.ask('heard');
  await until(() => proxy.counts().swallowedBytes === 4, { what: 'lost', withinMs: 2_000 });
});

test('a LISTEN statement makes a connection one, where the start-up message does not say', async () => {
  const peer = await open();
  await peer.ask(startup('something else'));
  expect(proxy.counts().listening).toBe(0);
  await peer.ask('Q\0\0\0\x20LISTEN "a2a_cluster:public"\0');
  expect(proxy.counts().listening).toBe(1);
});

test('new connections go to a new target; a stopped proxy refuses, and may be stopped again', async () => {
  const other = await startEcho();
  const first = await open();
  await first.ask('x');
  proxy.setTarget({ host: '127.0.0.1', port: (other.address() as AddressInfo).port });
  echo.close();
  await first.ask('x');
  await (await open()).ask('x');
  await proxy.stop();
  await proxy.stop();
  await first.ended();
  const refused = connect(proxy.port, '127.0.0.1');
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
  other.close();
});

(availableProviders().includes('postgresql') ? test : test.skip)(
  "a replica's connections are told apart: without the one for hints its statements go on",
  async () => {
    const database = await createTestDatabase({ provider: 'postgresql' });
    const server = new URL(database.url);
    proxy.setTarget({ host: server.hostname, port: Number(server.port || 5432) });
    const db = await createDatabase({ url: proxy.through(database.url), ttlMs: 6_000 });
    try {
      if (db.hints.kind !== 'listen') throw new Error('no LISTEN');
      let lost = false;
      const listener = await db.hints.listen({ onHint: () => {}, onLost: () => void (lost = true) });
      expect(proxy.counts().listening).toBe(1);
      expect(proxy.counts().connections).toBeGreaterThan(1);
      proxy.shut('listen');
      await until(() => lost, { what: 'the loss to be noticed', withinMs: 5_000 });
      await db.hints.notify(['task']);
      expect(proxy.counts()).toMatchObject({ listening: 0, cuts: 1 });
      await listener.close();
    } finally {
      await db.close();
      await database.drop();
    }
  },
);
