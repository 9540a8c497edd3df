import express from 'express';
import type { Router } from 'express';

/** What a replica says about itself. */
export interface Health {
  readonly ready: boolean;
  /** Why it is not ready, in words. */
  readonly reasons: readonly string[];
  /** More facts, such as the holder's name and the number of running turns. */
  readonly [fact: string]: unknown;
}

/**
 * `GET /livez`: 200 as long as the process answers, whatever the database does. `GET /readyz`: 200, or 503 while the
 * replica should get no new work; both carry the facts and the process id as JSON, and nobody caches them.
 */
export function healthRoutes(health: () => Health): Router {
  const router = express.Router();
  router.get('/livez', (_req, res) => {
    res.set('Cache-Control', 'no-store').json({ alive: true, pid: process.pid });
  });
  router.get('/readyz', (_req, res) => {
    const now = health();
    res.status(now.ready ? 200 : 503);
    res.set('Cache-Control', 'no-store').json({ ...now, pid: process.pid });
  });
  return router;
}
