import express from 'express';
import type { Router } from 'express';

/** What a replica says about itself. */
export interface Health {
  readonly ready: boolean;
  /** Why it is not ready, in words. */
  readonly reasons: readonly string[];
  /** Whether the process can do its work; default true. */
  readonly alive?: boolean;
  /** Why it cannot, in words. */
  readonly notAlive?: readonly string[];
  /** More facts, such as the holder's name and the number of running turns. */
  readonly [fact: string]: unknown;
}

/**
 * `GET /livez`: 200, or 503 with the reasons when this process can no longer do its work and should be started anew;
 * never because the database is away. `GET /readyz`: 200, or 503 while the replica should get no new work. Both carry
 * the process id as JSON, `/readyz` the facts as well, and nobody caches them.
 */
export function healthRoutes(health: () => Health): Router {
  const router = express.Router();
  router.get('/livez', (_req, res) => {
    const { alive = true, notAlive: reasons = [] } = health();
    res.status(alive ? 200 : 503);
    res.set('Cache-Control', 'no-store').json({ alive, ...(alive ? {} : { reasons }), pid: process.pid });
  });
  router.get('/readyz', (_req, res) => {
    const now = health();
    res.status(now.ready ? 200 : 503);
    res.set('Cache-Control', 'no-store').json({ ...now, pid: process.pid });
  });
  return router;
}
