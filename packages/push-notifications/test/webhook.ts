import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a webhook got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** Answers one request; the default is 200. */
export type Answer = (response: ServerResponse, received: Received) => void;

/** A real HTTP server that remembers what it was sent. */
export interface Webhook {
  readonly url: string;
  readonly received: readonly Received[];
  /** Resolves when so many requests have come. */
  count(requests: number): Promise<void>;
  /** Answers wait until `release`. */
  hold(): { release(): void };
  /** What the next requests are answered with. */
  answerWith(answer: number | Answer, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

/** Starts a webhook on a free port of 127.0.0.1. */
export async function startWebhook(): Promise<Webhook> {
  const received: Received[] = [];
  const watchers = new Set<() => void>();
  let gate = Promise.resolve();
  let answer: Answer = (response) => response.end();
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) };
      received.push(one);
      for (const watch of watchers) watch();
      void gate.then(() => answer(response, one));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    count: (requests) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (received.length < requests) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
      }),
    hold() {
      let release = (): void => {};
      gate = new Promise((resolve) => (release = resolve));
      return { release };
    },
    answerWith(next, headers = {}) {
      answer = typeof next === 'number' ? (response) => void response.writeHead(next, headers).end() : next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
