import { AsyncLocalStorage } from 'node:async_hooks';

/** What a streaming answer needs to know of the connection it goes out on. */
export interface ClientConnection {
  /** Aborts when the client has gone away. */
  readonly signal: AbortSignal;
  /** Resolves when the connection takes more bytes without buffering them in this process, or has closed. */
  writable(): Promise<void>;
}

const connections = new AsyncLocalStorage<ClientConnection>();

/** The connection of the request that is being answered, where the streaming middleware is in front. */
export function currentConnection(): ClientConnection | undefined {
  return connections.getStore();
}

/** The parts of an HTTP response that are needed; Node's and express's both have them. */
export interface ResponseLike {
  readonly writableNeedDrain: boolean;
  readonly destroyed: boolean;
  /** Whether all of it was handed to the system. */
  readonly writableFinished?: boolean;
  once(event: 'close' | 'drain', listener: () => void): unknown;
  off(event: 'close' | 'drain', listener: () => void): unknown;
}

/** A middleware of express or anything shaped like it. */
export type StreamingMiddleware = (request: unknown, response: ResponseLike, next: () => void) => void;

/**
 * Middleware that lets streams end when their client goes away, and wait when it reads slowly. The SDK's own
 * express handlers do neither; they need no change, mount this in front of them.
 */
export function createStreamingMiddleware(): StreamingMiddleware {
  return (_request, response, next) => {
    const gone = new AbortController();
    // An answer that went out whole closes too; nobody waits on it any more.
    response.once('close', () => {
      if (response.writableFinished !== true) gone.abort();
    });
    connections.run({ signal: gone.signal, writable: () => writable(response) }, next);
  };
}

function writable(response: ResponseLike): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });
}
