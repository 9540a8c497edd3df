import type { Request, RequestHandler, Response } from 'express';
import type { EventPage, TaskDetail, TaskPage } from '@a2a-cluster/console/api';
import { errorText, isClusterError, type Clock } from '@a2a-cluster/core';
import type { OperatorTask } from '@a2a-cluster/db';
import { noRoute, sendRestProblem } from '../front/problem.js';
import { answering } from './answer.js';
import { visitorOf } from './door.js';
import type { ConsoleHub } from './hub.js';
import { cursorOf, eventQuestion, idIn, queryOf, taskQuestion } from './query.js';
import type { ConsoleSource } from './source.js';
import { eventInfo, pushInfos, taskSummary } from './views.js';

/** Options of {@link readRoutes}. */
export interface ReadOptions {
  readonly source: ConsoleSource;
  readonly hub: ConsoleHub;
  readonly clock: Clock;
}

/** Most webhooks, and events given up, of one task that are shown. */
const MOST_PUSHES = 100;

/** What can be read, by path below the API; all of it GET. */
export function readRoutes({ source, hub, clock }: ReadOptions): Readonly<Record<string, RequestHandler>> {
  return {
    '/overview': answering(clock, (_req, res) => hub.overview(visitorOf(res).mayAct)),
    '/tasks': answering(clock, (req) => page(source, req)),
    '/tasks/:id': answering(clock, (req, res) => detail({ source, req, res })),
    '/tasks/:id/events': answering(clock, (req, res) => events({ source, req, res })),
  };
}

interface Asked {
  readonly source: ConsoleSource;
  readonly req: Request;
  readonly res: Response;
}

async function page({ operator }: ConsoleSource, req: Request): Promise<TaskPage> {
  const { tasks, next } = await operator.tasks.find(taskQuestion(queryOf(req)));
  return { tasks: tasks.map(taskSummary), nextCursor: cursorOf(next) };
}

async function detail(asked: Asked): Promise<TaskDetail | undefined> {
  const taskId = idIn(asked.req.params['id'], 'task');
  const { tasks, push } = asked.source.operator;
  const find = { taskId, limit: MOST_PUSHES };
  const [task, document, first, deliveries, letters] = await Promise.all([
    tasks.get(taskId),
    documentOf(tasks, taskId),
    tasks.events({ taskId, limit: 1 }),
    push.deliveries(find),
    push.deadLetters(find),
  ]);
  if (task === null || document === null) return notFound(asked);
  return {
    task: taskSummary(task),
    document,
    push: pushInfos(deliveries, letters),
    pruned: isPruned(task, first[0]?.seq),
  };
}

/** A document that cannot be read keeps nobody from seeing the rest of its task. */
async function documentOf(
  tasks: ConsoleSource['operator']['tasks'],
  taskId: string,
): Promise<TaskDetail['document'] | null> {
  try {
    return await tasks.document(taskId);
  } catch (error) {
    if (isClusterError(error, 'ROW_CORRUPT')) return { unreadable: errorText(error) };
    throw error;
  }
}

/** Events are numbered from 1 without a gap: the first one is missing only when retention took it. */
function isPruned({ version }: OperatorTask, firstSeq: number | undefined): boolean {
  return version > 0 && firstSeq !== 1;
}

async function events(asked: Asked): Promise<EventPage | undefined> {
  const taskId = idIn(asked.req.params['id'], 'task');
  const { tasks } = asked.source.operator;
  // The version is read first: events that come in between are then more than it says, never fewer.
  const task = await tasks.get(taskId);
  if (task === null) return notFound(asked);
  const found = await tasks.events({ taskId, ...eventQuestion(queryOf(asked.req)) });
  return { events: found.map(eventInfo), version: task.version };
}

function notFound({ req, res }: Asked): undefined {
  sendRestProblem(req, res, noRoute('There is no such task.'));
  return undefined;
}
