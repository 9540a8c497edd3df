import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '@a2a-cluster/core';

/** What answers a request; undefined: it was answered already. */
export type Answer = (req: Request, res: Response) => Promise<object | undefined>;

/** Answers with JSON and says in `Server-Timing` how long it took, by the clock of this process. */
export function answering(clock: Clock, answer: Answer): RequestHandler {
  return async (req, res) => {
    const fromMs = clock.monotonicMs();
    const value = await answer(req, res);
    if (value === undefined) return;
    const text = JSON.stringify(value);
    const tookMs = clock.monotonicMs() - fromMs;
    res.setHeader('Server-Timing', `total;dur=${tookMs.toFixed(1)}`);
    res.type('application/json').send(text);
  };
}
