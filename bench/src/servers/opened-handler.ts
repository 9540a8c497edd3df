import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import type { RequestHandler } from 'express';

/** A request handler that runs. */
export interface OpenedHandler {
  readonly handler: A2ARequestHandler;
  readonly middleware: readonly RequestHandler[];
  close(): Promise<void>;
}
