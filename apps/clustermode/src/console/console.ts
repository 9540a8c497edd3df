import express from 'express';
import type { Router } from 'express';
import type { Clock, Logger } from '@a2a-cluster/core';
import type { ConsoleAccess } from './access.js';
import { consoleApi } from './api.js';
import { pageDoor } from './door.js';
import { createConsoleHub, type ConsoleHubOptions } from './hub.js';
import { builtPage, consolePage } from './page.js';
import type { ConsoleSource } from './source.js';

/** Options of {@link createConsole}. */
export interface ConsoleOptions {
  readonly source: ConsoleSource;
  readonly access: ConsoleAccess;
  readonly setting: ConsoleHubOptions['setting'];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the built page is; default: where the package has it. */
  readonly folder?: string | undefined;
  /** How the hub works; default: as {@link createConsoleHub} says. */
  readonly hub?: Partial<ConsoleHubOptions>;
}

/** The console of a replica. */
export interface OperatorConsole {
  /** For `/console`. It has its own door. */
  readonly routes: Router;
  /** Ends the streams of all open pages, cleanly. */
  close(): void;
}

/** The page and its API. From now on samples are taken, until `close`. */
export function createConsole(options: ConsoleOptions): OperatorConsole {
  const { source, access, setting, clock, logger, folder = builtPage() } = options;
  const hub = createConsoleHub({ source, setting, clock, logger, ...options.hub });
  const routes = express.Router();
  routes.use(pageDoor(access));
  routes.use('/api', consoleApi({ source, hub, access, clock, logger }));
  routes.use(consolePage({ folder, logger }));
  return { routes, close: () => hub.close() };
}
