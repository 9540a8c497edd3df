import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AgentCard, StreamResponse, SubscribeToTaskRequest, Task } from '@a2a-js/sdk';
import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import {
  DefaultRequestHandler,
  type AgentExecutor,
  type ServerCallContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import type pg from 'pg';
import { TERMINAL_STATE_NAMES, stateName } from '@a2a-cluster/core';
import type { OpenedHandler } from '../servers/opened-handler.js';
import { openSdkStore } from './sdk-store.js';

/** What {@link openOriginal} is told. */
export interface OriginalOptions {
  readonly agentCard: AgentCard;
  readonly executor: AgentExecutor;
  readonly databaseUrl: string;
  readonly poolSize: number;
}

/** How often each subscriber asks. */
export const ORIGINAL_POLL_MS = 500;
/** How often each lease is renewed. */
const RENEW_MS = 5_000;
const TTL_S = 15;

/** Makes the one table the original's leases need beside the SDK's. */
export const ORIGINAL_LEASES =
  'CREATE TABLE original_leases (task_id text PRIMARY KEY, holder text NOT NULL, expires_at timestamptz NOT NULL)';

/**
 * The shape that cluster modes usually begin with: the whole task is written again for every event, every subscriber
 * asks for it at an interval, and every running task has a renewal of its own.
 */
export function openOriginal(options: OriginalOptions): OpenedHandler {
  const { agentCard, executor, databaseUrl, poolSize } = options;
  const { tasks, pool, close } = openSdkStore({ databaseUrl, poolSize });
  const inner = new DefaultRequestHandler(agentCard, tasks, withLeases(executor, pool));
  const closing = new AbortController();
  const handler = Object.create(inner, {
    resubscribe: {
      value: (params: SubscribeToTaskRequest, context: ServerCallContext) =>
        pollTask({ tasks, taskId: params.id, context, closed: closing.signal }),
    },
  }) as DefaultRequestHandler;
  return {
    handler,
    middleware: [],
    close: async () => {
      closing.abort();
      // Those that wait notice it at their next poll; those under way get their answer.
      await pause(ORIGINAL_POLL_MS);
      await close();
    },
  };
}

interface Poll {
  readonly tasks: TaskStore;
  readonly taskId: string;
  readonly context: ServerCallContext;
  readonly closed: AbortSignal;
}

/** The task whenever it is another than before, until it has ended. */
async function* pollTask(poll: Poll): AsyncGenerator<StreamResponse, void, undefined> {
  const { tasks, taskId, context, closed } = poll;
  let seen = '';
  while (!closed.aborted) {
    const task: Task | undefined = await tasks.load(taskId, context);
    if (task === undefined) throw new TaskNotFoundError(`Task ${taskId} not found`);
    const now = JSON.stringify(task);
    if (now !== seen) yield { payload: { $case: 'task', value: task } };
    seen = now;
    if (TERMINAL_STATE_NAMES.includes(stateName(task.status?.state))) return;
    await pause(ORIGINAL_POLL_MS);
  }
}

/** One row per running task, and one timer and one statement per row. */
function withLeases(executor: AgentExecutor, pool: pg.Pool): AgentExecutor {
  const holder = randomUUID();
  return {
    cancelTask: (taskId, bus) => executor.cancelTask(taskId, bus),
    execute: async (context, bus) => {
      const { taskId } = context;
      await pool.query(ACQUIRE, [taskId, holder, TTL_S]);
      const timer = setInterval(
        () => void pool.query(RENEW, [taskId, holder, TTL_S]).catch(() => {}),
        RENEW_MS,
      );
      try {
        await executor.execute(context, bus);
      } finally {
        clearInterval(timer);
        await pool.query('DELETE FROM original_leases WHERE task_id = $1', [taskId]);
      }
    },
  };
}

const ACQUIRE = `INSERT INTO original_leases VALUES ($1, $2, now() + $3 * interval '1 s')
  ON CONFLICT (task_id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
  WHERE original_leases.expires_at < now()`;
const RENEW = `UPDATE original_leases SET expires_at = now() + $3 * interval '1 s'
  WHERE task_id = $1 AND holder = $2`;
