import type { Request, RequestHandler, Response } from 'express';
import type { ActionOutcome } from '@a2a-cluster/console/api';
import { errorText, type Clock, type Logger } from '@a2a-cluster/core';
import { notesOf } from '../audit/request-notes.js';
import { answering } from './answer.js';
import { visitorOf } from './door.js';
import { BadQuestion, idIn } from './query.js';
import type { ConsoleSource } from './source.js';

/** Options of {@link actionRoutes}. */
export interface ActionOptions {
  readonly source: ConsoleSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Target {
  readonly id: string;
  readonly req: Request;
}

interface Action {
  readonly name: string;
  readonly of: 'task' | 'replica';
  act(source: ConsoleSource, target: Target): Promise<ActionOutcome>;
}

/** What can be done, by path below the API; all of them POST. Each writes a line about who did what, to what end. */
export function actionRoutes(options: ActionOptions): Readonly<Record<string, RequestHandler>> {
  return Object.fromEntries(
    ACTIONS.map((action) => [
      `/${action.of}s/:id/${action.name}`,
      answering(options.clock, (req, res) => perform({ ...options, action, req, res })),
    ]),
  );
}

async function perform(
  doing: ActionOptions & { readonly action: Action; readonly req: Request; readonly res: Response },
): Promise<ActionOutcome> {
  const { source, logger, action, req, res } = doing;
  const id = idIn(req.params['id'], action.of);
  const line = {
    audit: true,
    requestId: notesOf(req).requestId,
    remoteAddress: req.socket.remoteAddress,
    key: visitorOf(res).key,
    action: action.name,
    [action.of === 'task' ? 'taskId' : 'replica']: id,
  };
  try {
    const outcome = await action.act(source, { id, req });
    logger.info({ ...line, outcome: outcome.outcome }, 'an operator acted');
    return outcome;
  } catch (error) {
    if (!(error instanceof BadQuestion))
      logger.warn({ ...line, outcome: 'fault', reason: errorText(error) }, 'an operator acted');
    throw error;
  }
}

const done = (outcome: string, message: string): ActionOutcome => ({ ok: true, outcome, message });
const notDone = (outcome: string, message: string): ActionOutcome => ({ ok: false, outcome, message });
const NO_TASK = 'There is no such task.';
const NO_REPLICA = 'There is no such replica; it may have closed.';

const ACTIONS: readonly Action[] = [
  {
    ...{ name: 'cancel', of: 'task' },
    async act({ operator }, { id }) {
      const outcome = await operator.tasks.cancel(id);
      if (outcome === 'canceled') return done(outcome, 'The task is canceled.');
      return notDone(outcome, outcome === 'ended' ? 'The task had ended another way before.' : NO_TASK);
    },
  },
  {
    ...{ name: 'release', of: 'task' },
    async act({ operator }, { id }) {
      const outcome = await operator.releaseLease(id);
      const message = RELEASED[outcome];
      return outcome === 'failed' || outcome === 'dropped' ? done(outcome, message) : notDone(outcome, message);
    },
  },
  {
    ...{ name: 'retry-push', of: 'task' },
    async act({ operator }, { id, req }) {
      const configId = configIdIn(req.body);
      const touched = await operator.push.retry({ taskId: id, ...(configId === undefined ? {} : { configId }) });
      const { configs, deadLetters } = touched;
      if (configs + deadLetters === 0)
        return notDone('not_found', 'There is nothing to try again: no webhook waits, none is disabled.');
      const message = `To be tried again: webhooks ${configs}, dead letters ${deadLetters}.`;
      return done('queued', message);
    },
  },
  {
    ...{ name: 'drain', of: 'replica' },
    async act({ operator }, { id }) {
      if (!(await operator.replicas.drain(id))) return notDone('not_found', NO_REPLICA);
      return done('draining', 'It takes no more turns from its next heartbeat on; those that run go on.');
    },
  },
  {
    ...{ name: 'resume', of: 'replica' },
    async act({ operator }, { id }) {
      if (!(await operator.replicas.resume(id))) return notDone('not_found', NO_REPLICA);
      return done('resumed', 'It takes turns again from its next heartbeat on, unless it is closing.');
    },
  },
];

const RELEASED = {
  failed: 'Released: the turn was given up and its task is FAILED.',
  dropped: 'Released: the task had ended or waits for its client, and is as it was.',
  not_found: 'There is no lease for this task.',
  busy: 'Somebody is writing this lease right now: try again.',
};

/** @throws BadQuestion */
function configIdIn(body: unknown): string | undefined {
  const { configId } = Object(body) as { readonly configId?: unknown };
  return configId === undefined || configId === null ? undefined : idIn(configId, 'webhook');
}
