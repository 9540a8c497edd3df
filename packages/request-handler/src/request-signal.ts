import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from '@a2a-cluster/core';
import { DEFAULT_SLOW_READER_TIMEOUT_MS } from './options.js';

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
  /** Bytes that this process still holds for the client. */
  readonly writableLength: number;
  /** Calls the listener after every time of that length in which the connection moved no byte. */
  setTimeout(delayMs: number, listener: () => void): unknown;
  destroy(): unknown;
  once(event: 'close' | 'drain', listener: () => void): unknown;
  off(event: 'close' | 'drain', listener: () => void): unknown;
}

/** A middleware of express or anything shaped like it. */
export type StreamingMiddleware = (request: unknown, response: ResponseLike, next: () => void) => void;

/** Options of {@link createStreamingMiddleware}. */
export interface StreamingOptions {
  /** See `HandlerOptions.slowReaderTimeoutMs`. */
  readonly slowReaderTimeoutMs?: number;
  /** Is told of every client that was cut off. */
  readonly logger?: Logger;
}

/**
 * Middleware that lets streams end when their client goes away, wait when it reads slowly, and be cut off when it
 * reads nothing. The SDK's own express handlers do none of it; they need no change, mount this in front of them.
 *
 * A stream that waits holds what the connection's buffer took and the one event that filled it, whatever the turn
 * goes on to publish: the rest is read from the log when there is room. Neither the turn nor another reader waits.
 */
export function createStreamingMiddleware(options: StreamingOptions = {}): StreamingMiddleware {
  const { slowReaderTimeoutMs = DEFAULT_SLOW_READER_TIMEOUT_MS, logger } = options;
  return (_request, response, next) => {
    // Node's own timer of the connection: moved on by every write and every byte the client takes, at no cost here.
    response.setTimeout(slowReaderTimeoutMs, () => {
      const heldBytes = response.writableLength;
      // A stream on which nothing happens is as quiet, and is to stay.
      if (heldBytes === 0 || response.destroyed) return;
      logger?.warn(
        { heldBytes, slowReaderTimeoutMs },
        'a client that takes nothing of its answer was cut off',
      );
      response.destroy();
    });
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
