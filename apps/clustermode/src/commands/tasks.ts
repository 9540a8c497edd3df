import type { ClusterOperator } from '@a2a-cluster/cluster';
import type { FindTasks, OperatorTask } from '@a2a-cluster/db';
import type { Row } from '../table.js';
import { withOperator, type ListCommandOptions } from './database.js';
import { paint, shownMs, shownState } from './shown.js';
import { show } from './watch.js';

/** What `tasks` is told. */
export interface TasksOptions extends ListCommandOptions {
  readonly find: Partial<FindTasks>;
}

/** The most that one page has. */
const PAGE = 200;

/** Prints tasks of every owner, the youngest first; ages are by the database's clock. */
export function tasks(options: TasksOptions): Promise<number> {
  const { config, json, everyMs } = options;
  return withOperator(config, (operator) =>
    show({
      ...{ json, everyMs, title: 'Tasks' },
      async read() {
        const found = await findAll(operator, options);
        const none = 'There are no such tasks.';
        return { rows: found.map(taskRow), shown: found.map(shownTask), none, paint };
      },
    }),
  );
}

async function findAll(operator: ClusterOperator, { find, limit }: TasksOptions): Promise<OperatorTask[]> {
  const found: OperatorTask[] = [];
  let cursor: FindTasks['cursor'] | null = undefined;
  while (found.length < limit && cursor !== null) {
    const more = cursor === undefined ? {} : { cursor };
    const page = await operator.tasks.find({ ...find, ...more, limit: Math.min(PAGE, limit - found.length) });
    found.push(...page.tasks);
    cursor = page.next;
  }
  return found;
}

/** A task as one flat row of JSON. */
export function taskRow(task: OperatorTask): Row {
  const { taskId, state, tenant, owner, contextId, version, createdAtMs, ageMs, idleMs, lease } = task;
  return {
    ...{ taskId, state, tenant, owner, contextId, version, createdAtMs: Math.round(createdAtMs) },
    ...{ ageMs: Math.round(ageMs), idleMs: Math.round(idleMs), holder: lease?.holder ?? null },
    ...{ epoch: lease?.epoch ?? null, remainingMs: lease === null ? null : Math.round(lease.remainingMs) },
  };
}

function shownTask({ taskId, state, tenant, owner, ageMs, idleMs, version, lease, contextId }: OperatorTask): Row {
  return {
    ...{ task: taskId, state: shownState(state), age: shownMs(ageMs), idle: shownMs(idleMs), events: version },
    ...{ holder: lease?.holder ?? null, 'lease left': shownMs(lease?.remainingMs ?? null) },
    ...{ tenant: tenant || null, owner: owner || null, context: contextId },
  };
}
