import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { countDecodes } from '../harness/decodes.js';
import { countStatements } from '../harness/statements.js';
import { BenchAgent } from './agent.js';
import { openHandler } from './handlers.js';
import type { ServerCommand, ServerMessage, ServerSettings, ServerStats } from './protocol.js';

// A server process of a benchmark: one request handler behind the SDK's own JSON-RPC handler.
const settings = JSON.parse(process.argv[2] ?? '{}') as ServerSettings;
const statements = countStatements();
const decodes = settings.countDecodes === true ? countDecodes() : null;
const agent = new BenchAgent();
const opened = await openHandler(settings, agent);

const app = express();
app.use(
  '/a2a/jsonrpc',
  ...opened.middleware,
  jsonRpcHandler({ requestHandler: opened.handler, userBuilder: UserBuilder.noAuthentication }),
);
const server = createServer({ requestTimeout: 0 }, app);
// The clients keep their connections between two rounds, however far apart these are.
server.keepAliveTimeout = 0;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  say({ type: 'ready', port: (server.address() as AddressInfo).port });
});

process.on('message', (command: ServerCommand) => {
  if (command.type === 'stats') say({ type: 'stats', stats: stats() });
  else if (command.type === 'release') agent.release();
  else void close();
});
// Whoever started this process is gone.
process.on('disconnect', () => void close());

function say(message: ServerMessage): void {
  process.send?.(message);
}

/** Collections that were only asked for to tell the memory; they are nobody's work. */
let collectingMs = 0;

function stats(): ServerStats {
  const usedMs = cpuMs();
  globalThis.gc?.();
  const cpuWithoutMs = usedMs - collectingMs;
  collectingMs += cpuMs() - usedMs;
  const { rss } = process.memoryUsage();
  return {
    rssBytes: rss,
    cpuMs: cpuWithoutMs,
    statements: [...statements.take()],
    decodes: decodes?.take() ?? 0,
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function close(): Promise<void> {
  server.close();
  server.closeAllConnections();
  await opened.close();
  process.exit(0);
}
