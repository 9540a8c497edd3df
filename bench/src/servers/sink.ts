import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nowMs } from '../harness/time.js';
import type { SinkCommand, SinkCounts, SinkMessage, SinkSettings } from './sink-protocol.js';

// A webhook in a process of its own, as cheap as Node makes one: it reads the body, counts the id and answers 200.
const { ports, hangs = false } = JSON.parse(process.argv[2] ?? '{}') as SinkSettings;

const seen = new Set<string>();
/** The largest seq that came, by task and config. */
const last = new Map<string, number>();
const repeated = new Map<string, number>();
let accepted = 0;
let early = 0;
let lastMs = 0;
let expected = Infinity;

const servers = await Promise.all(Array.from({ length: ports }, listen));
say({ type: 'ready', ports: servers.map((server) => (server.address() as AddressInfo).port) });

process.on('message', (command: SinkCommand) => {
  if (command.type === 'expect') expect(command.notifications);
  else if (command.type === 'counts') say({ type: 'counts', counts: counts() });
  else process.exit(0);
});
// Whoever started this process is gone.
process.on('disconnect', () => process.exit(0));

async function listen(): Promise<Server> {
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    request.on('end', () => {
      if (hangs) return;
      response.end();
      take(String(request.headers['a2a-notification-id']));
    });
    request.resume();
  });
  server.keepAliveTimeout = 0;
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 });
  await once(server, 'listening');
  return server;
}

/** An id is `<task>:<seq>:<config>`. */
function take(id: string): void {
  const [task = '', seqText = '', config = ''] = id.split(':');
  const key = `${task}:${config}`;
  const seq = Number(seqText);
  const before = last.get(key) ?? 0;
  if (seen.has(id)) {
    repeated.set(key, (repeated.get(key) ?? 0) + 1);
    return;
  }
  seen.add(id);
  if (seq > before + 1) early += 1;
  last.set(key, Math.max(seq, before));
  accepted += 1;
  lastMs = nowMs();
  if (accepted === Math.ceil(expected / 2)) say({ type: 'half' });
  if (accepted === expected) say({ type: 'all' });
}

function expect(notifications: number): void {
  seen.clear();
  last.clear();
  repeated.clear();
  accepted = 0;
  early = 0;
  lastMs = 0;
  expected = notifications;
  say({ type: 'expecting' });
}

function counts(): SinkCounts {
  return { accepted, lastMs, repeated: [...repeated], early };
}

function say(message: SinkMessage): void {
  process.send?.(message);
}
