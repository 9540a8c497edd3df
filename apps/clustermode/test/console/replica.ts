import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCluster, type Cluster, type ClusterOptions } from '@a2a-cluster/cluster';
import { createSystemClock } from '@a2a-cluster/core';
import { SendMessageRequest, type Task } from '@a2a-js/sdk';
import { ServerCallContext, UnauthenticatedUser, type User } from '@a2a-js/sdk/server';
import { agentCardFor } from '../../src/agent/card.js';
import { createDemoAgent } from '../../src/agent/demo-agent.js';
import { consoleAccessOf } from '../../src/console/access.js';
import { createConsole, type ConsoleOptions, type OperatorConsole } from '../../src/console/console.js';
import { createOperatorApp } from '../../src/operator/operator-app.js';
import type { OperatorConfig } from '../../src/operator/operator-config.js';
import { operatorAccessOf, operatorRoutes } from '../../src/operator/operator-routes.js';
import { userMessage } from '../fixture.js';
import { keepLog, type KeptLog } from '../log-lines.js';

/** A replica with its console on a port of its own. */
export interface ConsoleReplica {
  readonly cluster: Cluster;
  readonly console: OperatorConsole;
  readonly kept: KeptLog;
  readonly url: string;
  /** A request below `/console`. */
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Starts a turn; resolves when its task is there. */
  send(script: string, options?: { readonly owner?: string; readonly hook?: string }): Promise<Task>;
  close(): Promise<void>;
}

/** Options of {@link ConsoleReplica.call}. */
export interface CallOptions {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
  readonly json: any;
}

/** Options of {@link startConsole}. */
export interface StartOptions {
  readonly cluster?: Partial<ClusterOptions>;
  readonly operator?: Partial<OperatorConfig>;
  readonly mainHost?: string;
  readonly folder?: string | undefined;
  readonly setting?: Partial<ConsoleOptions['setting']>;
  readonly hub?: ConsoleOptions['hub'];
  readonly aliveMs?: number;
  /** Stands between the console and the cluster. */
  readonly over?: (cluster: Cluster) => ConsoleOptions['source'];
}

/** Short heartbeats, so that what is learnt with them comes soon. */
export const LEASE = { ttlMs: 3_000, heartbeatMs: 100, sweepIntervalMs: 200 };

/** Starts one on what `cluster` names as its database. */
export async function startConsole(options: StartOptions): Promise<ConsoleReplica> {
  const kept = keepLog();
  const cluster = await createCluster({
    agentCard: agentCardFor({ publicUrl: 'http://localhost', accepts: { tokens: true, jwt: false } }),
    executor: createDemoAgent(),
    lease: LEASE,
    logger: kept.log,
    ...options.cluster,
  });
  await cluster.start();
  const operator: OperatorConfig = {
    port: undefined,
    host: '127.0.0.1',
    token: undefined,
    ...options.operator,
  };
  const { mainHost = '127.0.0.1', over = (own) => own } = options;
  const { ttlMs: leaseTtlMs, heartbeatMs } = LEASE;
  const console = createConsole({
    source: over(cluster),
    access: consoleAccessOf(operator, mainHost),
    setting: { provider: 'memory', leaseTtlMs, heartbeatMs, ...options.setting },
    clock: createSystemClock(),
    logger: kept.log,
    ...('folder' in options ? { folder: options.folder } : {}),
    ...(options.aliveMs === undefined ? {} : { aliveMs: options.aliveMs }),
    hub: { sampleGapMs: 50, ...options.hub },
  });
  const routes = operatorRoutes({
    access: operatorAccessOf(operator, mainHost),
    routes: {},
    withOwnDoor: { '/console': console.routes },
  });
  const health = { ready: true, reasons: [] };
  const app = createOperatorApp({ routes, health: () => health, logger: kept.log });
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ cluster, console, kept, url },
    call: (path, more = {}) => call(`${url}/console${path}`, more),
    send: (script, who) => send(cluster, { script, ...who }),
    async close() {
      console.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await cluster.close({ drainTimeoutMs: 0 });
    },
  };
}

/** A request as it is: no header is added, none is refused. */
export function call(
  url: string,
  { method = 'GET', token, headers = {}, body }: CallOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const sent = httpRequest(
      url,
      { method, headers: { ...authorization, ...headers }, agent: false },
      (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        res.once('end', () =>
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json: jsonIn(text) }),
        );
      },
    );
    sent.once('error', reject).end(body);
  });
}

/** A POST with a body of JSON. */
export function post(body?: unknown): CallOptions {
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function send(
  cluster: Cluster,
  what: { readonly script: string; readonly owner?: string; readonly hook?: string },
): Promise<Task> {
  const { script, owner, hook } = what;
  const push =
    hook === undefined
      ? {}
      : { taskPushNotificationConfig: { id: 'hook', url: hook, token: 'planted-token' } };
  const request = SendMessageRequest.fromJSON({
    message: userMessage(script),
    configuration: { returnImmediately: true, ...push },
  });
  const user: User =
    owner === undefined ? new UnauthenticatedUser() : { isAuthenticated: true, userName: owner };
  const context = new ServerCallContext({ requestedVersion: '1.0', user });
  return (await cluster.requestHandler.sendMessage(request, context)) as Task;
}

/** An event of a live stream. */
export interface LiveEvent {
  readonly name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of which each test knows the shape
  readonly data: any;
}

/** An open page. */
export interface OpenPage {
  readonly headers: IncomingMessage['headers'];
  readonly events: LiveEvent[];
  /** Resolves at the next sign of life. */
  alive(): Promise<void>;
  /** Resolves with the first event, of those that came or come, that fits. */
  until(fits: (event: LiveEvent) => boolean): Promise<LiveEvent>;
  /** Resolves when the server has ended it; true: cleanly. */
  readonly ended: Promise<boolean>;
  /** Reads no more, and reads again. */
  pause(): void;
  resume(): void;
  leave(): void;
}

/** Opens a page's stream. */
export function openPage(url: string, token?: string): Promise<OpenPage> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const sent = httpRequest(url, { headers, agent: false }, (res) => {
      const events: LiveEvent[] = [];
      const waiting = new Set<() => void>();
      let signs = 0;
      let rest = '';
      res.setEncoding('utf8').on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(part) ?? [];
          if (part === ':') signs += 1;
          if (name !== undefined && data !== undefined) events.push({ name, data: JSON.parse(data) });
        }
        waiting.forEach((look) => look());
      });
      const ended = new Promise<boolean>((done) => res.once('close', () => done(res.complete)));
      res.on('error', () => {});
      resolve({
        headers: res.headers,
        ...{ events, ended },
        alive: () =>
          new Promise((found) => {
            const before = signs;
            const look = (): void => {
              if (signs > before && waiting.delete(look)) found();
            };
            waiting.add(look);
          }),
        until: (fits) =>
          new Promise((found) => {
            const look = (): void => {
              const event = events.find(fits);
              if (event === undefined) return;
              waiting.delete(look);
              found(event);
            };
            waiting.add(look);
            look();
          }),
        pause: () => void res.pause(),
        resume: () => void res.resume(),
        leave: () => sent.destroy(),
      });
    });
    sent.once('error', reject).end();
  });
}
