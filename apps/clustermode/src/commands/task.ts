import { isTerminalName, sleep, createSystemClock, type StateName } from '@a2a-cluster/core';
import type { ClusterOperator } from '@a2a-cluster/cluster';
import type { DeadLetterListing, OperatorEvent, OperatorTask, PushListing } from '@a2a-cluster/db';
import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import { shownDuration } from '../shown-duration.js';
import { shownUrl } from '../shown-url.js';
import { table, type Row } from '../table.js';
import { withOperator, type DatabaseCommandOptions } from './database.js';
import { paint, shownMs, shownState } from './shown.js';
import { taskRow } from './tasks.js';

/** What the commands about one task are told. */
export interface TaskCommandOptions extends Pick<DatabaseCommandOptions, 'config' | 'json'> {
  readonly taskId: string;
}

const NO_TASK = 'There is no such task.';
/** How often a task is looked at while its cancel is under way. */
const LOOK_MS = 200;

/** Prints one task: its state, its lease, its webhooks without secrets, and its last events, `limit` of them. */
export function showTask(options: TaskCommandOptions & { readonly limit: number }): Promise<number> {
  const { config, json, taskId, limit } = options;
  return withOperator(config, async ({ tasks, push }) => {
    const task = await tasks.get(taskId);
    if (task === null) return notFound(options);
    const after = Math.max(0, task.version - limit);
    const [events, deliveries, dead] = await Promise.all([
      tasks.events({ taskId, after, limit }),
      push.deliveries({ taskId }),
      push.deadLetters({ taskId }),
    ]);
    const shown = { task, events, deliveries, dead };
    process.stdout.write(`${json ? JSON.stringify(jsonOf(shown)) : textOf(shown)}\n`);
    return EXIT_OK;
  });
}

/**
 * Cancels a task as its owner would: a replica that runs it is told and has the grace to end it, then CANCELED is
 * written. This process is no replica and hears nothing of them, so it looks at the task meanwhile.
 */
export function cancelTask(options: TaskCommandOptions): Promise<number> {
  const { config, json, taskId } = options;
  return withOperator(config, async (operator) => {
    const outcome = await cancelAndLook(operator, taskId);
    const text = json ? JSON.stringify({ taskId, outcome }) : CANCELED[outcome];
    process.stdout.write(`${text}\n`);
    return outcome === 'canceled' ? EXIT_OK : EXIT_FAILED;
  });
}

const CANCELED = {
  canceled: 'The task is CANCELED.',
  not_found: NO_TASK,
  ended: 'The task had ended another way before.',
};

async function cancelAndLook(
  { tasks }: ClusterOperator,
  taskId: string,
): Promise<'canceled' | 'not_found' | 'ended'> {
  const over = new AbortController();
  const canceled = tasks.cancel(taskId).finally(() => over.abort());
  const clock = createSystemClock();
  const seen = async (): Promise<'canceled' | 'ended' | undefined> => {
    while (!over.signal.aborted) {
      await sleep({ clock, delayMs: LOOK_MS, signal: over.signal });
      const state = over.signal.aborted ? undefined : (await tasks.get(taskId).catch(() => null))?.state;
      if (state !== undefined && isTerminalName(state)) return endOf(state);
    }
    return undefined;
  };
  const first = await Promise.race([canceled, seen()]);
  over.abort();
  // Closing ends a cancel that still waits; what it would say is known already.
  if (first !== undefined) void canceled.catch(() => {});
  return first ?? canceled;
}

function endOf(state: StateName): 'canceled' | 'ended' {
  return state === 'TASK_STATE_CANCELED' ? 'canceled' : 'ended';
}

function notFound({ json, taskId }: TaskCommandOptions): number {
  process.stdout.write(`${json ? JSON.stringify({ taskId, outcome: 'not_found' }) : NO_TASK}\n`);
  return EXIT_FAILED;
}

interface ShownTask {
  readonly task: OperatorTask;
  readonly events: readonly OperatorEvent[];
  readonly deliveries: readonly PushListing[];
  readonly dead: readonly DeadLetterListing[];
}

function jsonOf({ task, events, deliveries, dead }: ShownTask): object {
  return {
    ...taskRow(task),
    cancelAgeMs: task.lease?.cancelAgeMs ?? null,
    push: deliveries.map(pushRow),
    deadLetters: dead.map(({ configId, seq, status, attempts, error }) => ({
      ...{ configId, seq, status, attempts, error },
    })),
    events: events.map((event) => ({ ...eventRow(event), createdAtMs: Math.round(event.createdAtMs) })),
  };
}

function textOf({ task, events, deliveries, dead }: ShownTask): string {
  const { taskId, state, tenant, owner, contextId, version, ageMs, idleMs, lease } = task;
  const facts: readonly (readonly [string, string])[] = [
    ['task', taskId],
    ['state', shownState(state)],
    ['owner', `${owner || '-'}${tenant === '' ? '' : ` of ${tenant}`}`],
    ['context', contextId],
    ['age', `${shownDuration(ageMs)}, last event ${shownDuration(idleMs)} ago`],
    ['lease', lease === null ? 'none' : leaseText(lease)],
    ['events', String(version)],
  ];
  const now = task.createdAtMs + ageMs;
  const rows = events.map((event) => ({ ...eventRow(event), age: shownMs(now - event.createdAtMs) }));
  const letters = dead.map(({ configId, seq, status, attempts, error }) => ({
    ...{ webhook: configId, seq, status, attempts, error },
  }));
  return [
    table(facts.map(([name, value]) => ({ fact: name, value }))).replace(/^.*\n/, ''),
    ...(deliveries.length === 0 ? [] : [table(deliveries.map(pushRow), paint)]),
    ...(letters.length === 0 ? [] : [table(letters, paint)]),
    rows.length === 0 ? 'Its events are gone.' : table(rows, paint),
  ].join('\n\n');
}

function leaseText({ holder, epoch, remainingMs, cancelAgeMs }: NonNullable<OperatorTask['lease']>): string {
  const left = remainingMs > 0 ? `${shownDuration(remainingMs)} left` : 'expired';
  const cancel = cancelAgeMs === null ? '' : `, cancel asked ${shownDuration(cancelAgeMs)} ago`;
  return `${holder}, epoch ${epoch}, ${left}${cancel}`;
}

function eventRow({ seq, kind, holder, epoch }: OperatorEvent): Row {
  return { seq, kind, holder, epoch };
}

function pushRow(row: PushListing): Row {
  const { configId, status, position, version, attempts, dueInMs, holder, lastError, url } = row;
  return {
    ...{ configId, status, delivered: position, of: version, attempts },
    ...{ dueInMs: dueInMs === null ? null : Math.round(dueInMs), holder, lastError, url: shownUrl(url) },
  };
}
