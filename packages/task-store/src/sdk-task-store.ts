import { ClusterError, createSilentLogger, isStorableName, stateName, type Logger } from '@a2a-cluster/core';
import type { TaskListQuery } from '@a2a-cluster/db';
import { TaskState, type ListTasksRequest, type ListTasksResponse, type Task } from '@a2a-js/sdk';
import {
  resolveUserScope,
  type OwnerResolver,
  type ServerCallContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { decodePageToken, encodePageToken } from './page-token.js';
import { storableScopeOf } from './scope.js';
import { createTaskReader, type ListedTask, type TaskReader } from './task-reader.js';

/** What {@link createSdkTaskStore} needs. */
export interface SdkTaskStoreOptions {
  readonly database: Parameters<typeof createTaskReader>[0]['database'];
  /** Default: one over `database`. */
  readonly reader?: TaskReader;
  /** Default: the SDK's `resolveUserScope`. */
  readonly ownerResolver?: OwnerResolver;
  readonly logger?: Logger;
}

/** As the SDK has it where a request names none. */
const DEFAULT_PAGE_SIZE = 50;

/**
 * The tasks of the cluster as the SDK's `TaskStore`, for a `DefaultRequestHandler` that answers reads. Every call is
 * scoped by tenant and owner: another's task is as if it did not exist.
 *
 * `save` throws a `ClusterError` `BUG`: tasks change through the journal only. All methods throw
 * `RequestMalformedError` for a scope that cannot be stored.
 */
export function createSdkTaskStore(options: SdkTaskStoreOptions): TaskStore {
  const { database, ownerResolver = resolveUserScope, logger = createSilentLogger() } = options;
  const reader = options.reader ?? createTaskReader({ database });
  return {
    load: async (taskId, context) => {
      const scope = storableScopeOf(context, ownerResolver);
      return (await reader.read({ taskId, scope }))?.task;
    },
    list: (request, context) => listTasks({ reader, ownerResolver, logger, request, context }),
    save: async (task) => {
      throw new ClusterError('BUG', 'tasks are written through the journal only', {
        details: { taskId: task.id },
      });
    },
  };
}

interface ListCall {
  readonly reader: TaskReader;
  readonly ownerResolver: OwnerResolver;
  readonly logger: Logger;
  readonly request: ListTasksRequest;
  readonly context: ServerCallContext;
}

async function listTasks(call: ListCall): Promise<ListTasksResponse> {
  const { reader, logger, request } = call;
  const { pageSize = DEFAULT_PAGE_SIZE } = request;
  const query = toQuery(call);
  // Such a context has no tasks; some databases would read one of a similar name.
  if (!isStorableName(request.contextId)) return { tasks: [], nextPageToken: '', pageSize, totalSize: 0 };
  // One more than asked for tells whether there is another page.
  const { tasks, total } = await reader.list({ ...query, limit: pageSize + 1 });
  const page = tasks.slice(0, pageSize);
  const last = page.at(-1);
  return {
    tasks: readable(page, logger).map((task) => trimmed(task, request)),
    nextPageToken: last && tasks.length > page.length ? encodePageToken(last.row) : '',
    pageSize,
    totalSize: total,
  };
}

function toQuery({ request, context, ownerResolver }: ListCall): Omit<TaskListQuery, 'limit'> {
  const { contextId, status, statusTimestampAfter, pageToken } = request;
  const anyState = status === undefined || status === TaskState.TASK_STATE_UNSPECIFIED;
  return {
    scope: storableScopeOf(context, ownerResolver),
    ...(contextId ? { contextId } : {}),
    ...(anyState ? {} : { state: stateName(status) }),
    ...(statusTimestampAfter ? { statusAfter: toIso(statusTimestampAfter) } : {}),
    ...(pageToken ? { cursor: decodePageToken(pageToken) } : {}),
  };
}

/** A day, or a day and a time with its zone: without one the time would depend on the zone of the replica. */
const TIMESTAMP = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i;

/**
 * The form in which timestamps are stored: in UTC with milliseconds and a year of four digits, so that their order is
 * that of the bytes.
 */
function toIso(timestamp: string): string {
  const day = TIMESTAMP.exec(timestamp)?.[1];
  const time = Date.parse(timestamp);
  if (day === undefined || Number.isNaN(time) || !isDay(day))
    throw new RequestMalformedError('statusTimestampAfter is not a time.');
  const iso = new Date(time).toISOString();
  if (!/^\d/.test(iso)) throw new RequestMalformedError('statusTimestampAfter is out of range.');
  return iso;
}

/** Whether a day is in the calendar; the parser takes the 30th of February for the 1st of March. */
function isDay(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

function readable(listed: readonly ListedTask[], logger: Logger): Task[] {
  return listed.flatMap(({ row, found }) => {
    if (found === null) return [];
    if (!(found instanceof Error)) return [found.task];
    logger.error({ taskId: row.taskId, err: found }, 'a task that cannot be read is left out of a list');
    return [];
  });
}

function trimmed(task: Task, { includeArtifacts, historyLength }: ListTasksRequest): Task {
  return {
    ...task,
    artifacts: includeArtifacts ? task.artifacts : [],
    history: historyLength === undefined ? task.history : lastOf(task.history, historyLength),
  };
}

function lastOf<T>(list: T[], length: number): T[] {
  return length <= 0 ? [] : list.slice(-length);
}
