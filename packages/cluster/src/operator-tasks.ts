import { TaskNotCancelableError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { Task } from '@a2a-js/sdk';
import type { Database } from '@a2a-cluster/db';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { ClusterRequestHandler } from '@a2a-cluster/request-handler';
import { isStorableKey } from '@a2a-cluster/core';
import type { TaskReader } from '@a2a-cluster/task-store';
import type { TaskOperator } from './operator-views.js';

/** Tasks on a page when no limit is named, and at most. */
const PAGE = 50;
const LONGEST_PAGE = 200;

/** Events that are given when no limit is named, and at most. */
const EVENTS = 200;
const MOST_EVENTS = 1_000;

/** What the part of tasks is made of. */
export interface TaskOperatorParts {
  readonly database: Pick<Database, 'operators'>;
  readonly reader: TaskReader;
  readonly stream: Pick<EventStream, 'watchHead'>;
  readonly requestHandler: Pick<ClusterRequestHandler, 'cancelAs'>;
}

/** The operator's part that is about tasks. */
export function createTaskOperator(parts: TaskOperatorParts): TaskOperator {
  const { database, reader, stream, requestHandler } = parts;
  const { operators } = database;
  return {
    async find(find = {}) {
      const limit = within(find.limit ?? PAGE, LONGEST_PAGE);
      // One more than the page tells whether there is a next one.
      const found = await operators.findTasks({ ...find, limit: limit + 1 });
      const tasks = found.slice(0, limit);
      const last = tasks.at(-1);
      const more = found.length > limit && last !== undefined;
      return { tasks, next: more ? { createdAtMs: last.createdAtMs, taskId: last.taskId } : null };
    },
    get: (taskId) => operators.task(taskId),
    async document(taskId) {
      const stored = await reader.read({ taskId });
      return stored === null ? null : (Task.toJSON(stored.task) as Readonly<Record<string, unknown>>);
    },
    events: ({ taskId, after = 0, limit = EVENTS }) =>
      operators.events({ taskId, after, limit: within(limit, MOST_EVENTS) }),
    async counts() {
      const [live, leaseless] = await Promise.all([operators.countLive(), operators.countLeaseless()]);
      return { live, leaseless };
    },
    async cancel(taskId) {
      const task = await operators.task(taskId);
      if (task === null) return 'not_found';
      if (task.state === 'TASK_STATE_CANCELED') return 'canceled';
      try {
        await requestHandler.cancelAs(taskId, { tenant: task.tenant, owner: task.owner });
        return 'canceled';
      } catch (error) {
        if (error instanceof TaskNotCancelableError) return 'ended';
        if (error instanceof TaskNotFoundError) return 'not_found';
        throw error;
      }
    },
    watch({ taskIds, onHead }) {
      const ends = [...new Set(taskIds)]
        .filter(isStorableKey)
        .map((taskId) => stream.watchHead({ taskId, soon: true, onHead: (head) => onHead(taskId, head) }));
      return () => {
        for (const end of ends.splice(0)) end();
      };
    },
  };
}

/** A number of rows: a whole one from 1 to the most; what is none is the most. */
function within(limit: number, most: number): number {
  return limit >= 1 && limit <= most ? Math.floor(limit) : limit < 1 ? 1 : most;
}
