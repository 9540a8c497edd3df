import type { TaskListPage, TaskListQuery, TaskQueries, TaskRow } from '../statements/task-queries.js';
import type { PortableClient, PrismaProvider, TaskOrder, TaskRecord, TaskWhere } from './portable-client.js';
import { guarded } from './prisma-faults.js';
import { readTasks } from './read-tasks.js';

/** Reads of tasks through Prisma, the same on every SQL database. */
export function createTaskQueries(client: PortableClient, provider: PrismaProvider): TaskQueries {
  return {
    list: (query) => listTasks(client, query),
    readTasks: (taskIds) => readTasks({ client, provider, taskIds }),
  };
}

/**
 * Tasks with a time first, then those without, as two queries: the databases disagree where NULL sorts, and Prisma
 * can say "nulls last" on two of the three only. The second runs only where the first leaves room on the page.
 */
async function listTasks(client: PortableClient, query: TaskListQuery): Promise<TaskListPage> {
  const filter = filterOf(query);
  const total = guarded({
    name: 'countTasks',
    writes: false,
    run: () => client.task.count({ where: withTimeLimit(filter, query) }),
  });
  const rows = readRows(client, query, filter);
  const [count, page] = await Promise.all([total, rows]);
  return { rows: page.map(toRow), total: count };
}

async function readRows(
  client: PortableClient,
  query: TaskListQuery,
  filter: TaskWhere,
): Promise<TaskRecord[]> {
  const { limit } = query;
  const find = (where: TaskWhere, orderBy: TaskOrder[], take: number): Promise<TaskRecord[]> =>
    guarded({ name: 'listTasks', writes: false, run: () => client.task.findMany({ where, orderBy, take }) });
  const timed = timedPart(filter, query);
  const rows = timed ? await find(timed, [{ statusTimestamp: 'desc' }, { id: 'desc' }], limit) : [];
  const untimed = untimedPart(filter, query);
  if (rows.length >= limit || untimed === null) return rows;
  // By id alone: NULL and '' both mean "no time".
  return [...rows, ...(await find(untimed, [{ id: 'desc' }], limit - rows.length))];
}

function filterOf({ scope, contextId, state }: TaskListQuery): TaskWhere {
  return {
    ...(scope && { tenant: scope.tenant, owner: scope.owner }),
    ...(contextId !== undefined && { contextId }),
    ...(state !== undefined && { state }),
  };
}

function withTimeLimit(filter: TaskWhere, { statusAfter }: TaskListQuery): TaskWhere {
  return statusAfter === undefined ? filter : { ...filter, statusTimestamp: { gt: statusAfter } };
}

/** Null: the cursor is past all tasks with a time. */
function timedPart(filter: TaskWhere, query: TaskListQuery): TaskWhere | null {
  const gt = query.statusAfter ?? '';
  const { cursor } = query;
  if (cursor === undefined) return { ...filter, statusTimestamp: { gt } };
  const { statusTimestamp, taskId } = cursor;
  if (statusTimestamp === '') return null;
  return {
    ...filter,
    // Said twice so that the index is entered at the cursor, which an OR alone does not do.
    statusTimestamp: { gt, lte: statusTimestamp },
    OR: [{ statusTimestamp: { lt: statusTimestamp } }, { statusTimestamp, id: { lt: taskId } }],
  };
}

/** Null: a limit on the time leaves none without one. */
function untimedPart(filter: TaskWhere, { statusAfter, cursor }: TaskListQuery): TaskWhere | null {
  if (statusAfter !== undefined && statusAfter !== '') return null;
  const untimed: TaskWhere = { ...filter, OR: [{ statusTimestamp: null }, { statusTimestamp: '' }] };
  return cursor?.statusTimestamp === '' ? { ...untimed, id: { lt: cursor.taskId } } : untimed;
}

function toRow(row: TaskRecord): TaskRow {
  const { id, tenant, owner, contextId, state, statusTimestamp, version } = row;
  return {
    taskId: id,
    scope: { tenant, owner },
    contextId,
    state,
    statusTimestamp: statusTimestamp ?? '',
    version,
  };
}
