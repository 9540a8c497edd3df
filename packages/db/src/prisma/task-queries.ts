import type { TaskListPage, TaskListQuery, TaskQueries, TaskRow } from '../statements/task-queries.js';
import { listStatements, type ListStatement } from './list-statements.js';
import type { PortableClient, PrismaProvider } from './portable-client.js';
import { guarded } from './prisma-faults.js';
import { readTasks } from './read-tasks.js';

/** Reads of tasks through Prisma, the same on every SQL database. */
export function createTaskQueries(client: PortableClient, provider: PrismaProvider): TaskQueries {
  return {
    list: (query) => listTasks({ client, provider, query }),
    readTasks: (taskIds) => readTasks({ client, provider, taskIds }),
  };
}

/**
 * Tasks with a time first, then those without, as two queries: the databases disagree where NULL sorts. The second
 * runs only where the first leaves room on the page.
 */
async function listTasks(list: {
  readonly client: PortableClient;
  readonly provider: PrismaProvider;
  readonly query: TaskListQuery;
}): Promise<TaskListPage> {
  const { client, provider, query } = list;
  const statements = listStatements(provider, query);
  const ask = <T>(name: string, { text, values }: ListStatement): Promise<T[]> =>
    guarded({ name, writes: false, run: () => client.$queryRawUnsafe<T[]>(text, ...values) });
  const readRows = async (): Promise<ListedRow[]> => {
    const rows = statements.timed ? await ask<ListedRow>('listTasks', statements.timed) : [];
    const room = query.limit - rows.length;
    const untimed = room > 0 ? statements.untimed(room) : null;
    return untimed ? [...rows, ...(await ask<ListedRow>('listTasks', untimed))] : rows;
  };
  const [counted, rows] = await Promise.all([ask<Counted>('countTasks', statements.total), readRows()]);
  return { rows: rows.map(toRow), total: Number(counted[0]?.total ?? 0) };
}

interface Counted {
  readonly total: number | bigint;
}

interface ListedRow {
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
  readonly context_id: string;
  readonly state: string;
  readonly status_timestamp: string | null;
  readonly version: number | bigint;
}

function toRow(row: ListedRow): TaskRow {
  const { id, tenant, owner, context_id, state, status_timestamp, version } = row;
  return {
    taskId: id,
    scope: { tenant, owner },
    contextId: context_id,
    state,
    statusTimestamp: status_timestamp ?? '',
    version: Number(version),
  };
}
