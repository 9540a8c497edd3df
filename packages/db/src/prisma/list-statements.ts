import type { TaskListQuery } from '../statements/task-queries.js';
import type { PrismaProvider } from './portable-client.js';

/** One statement with its parameters, in order. */
export interface ListStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** What a list is made of. */
export interface ListStatements {
  /** Counts every match, whatever the page: one row with `total`. */
  readonly total: ListStatement;
  /** The page among tasks with a time. Null: the cursor is past all of them. */
  readonly timed: ListStatement | null;
  /** The page among tasks without a time, to follow those with one. Null: a limit on the time leaves none. */
  untimed(limit: number): ListStatement | null;
}

const COLUMNS = 'id, tenant, owner, context_id, state, status_timestamp, version';
const NEWEST_FIRST = 'status_timestamp DESC, id DESC';

/**
 * The statements of a list. Raw SQL, because what Prisma writes is not answered from the indexes alone: MariaDB reads
 * from the newest task down to the cursor where Prisma cannot name an index, PostgreSQL counts a large owner's tasks
 * in the heap, and Prisma has no row comparison.
 *
 * Every filter of an owner is a range of one index, entered at the cursor; its total reads that index alone. Without
 * an owner (operators) no index serves. Times are NULL where there is none: PostgreSQL sees the order of an index
 * through IS NULL only when both columns are named, MySQL only when `id` alone is.
 */
export function listStatements(provider: PrismaProvider, query: TaskListQuery): ListStatements {
  const { statusAfter, cursor, limit } = query;
  const dialect = dialects[provider];
  const index = indexOf(provider, query);
  const from = `tasks${index === null ? '' : dialect.hint(index)}`;
  const page = (rows: number, order: string, more: (place: Place) => readonly string[]): ListStatement =>
    statement(dialect, (place) => {
      const where = whereOf([...filterOf(query, place), ...more(place)]);
      return `SELECT ${COLUMNS} FROM ${from}${where} ORDER BY ${order} LIMIT ${place(rows)}`;
    });
  const past = cursor?.statusTimestamp === '';
  return {
    total: statement(dialect, (place) => {
      // In the order of the text: `?` has no number.
      const filter = filterOf(query, place);
      const after = statusAfter === undefined ? [] : [`status_timestamp > ${place(statusAfter)}`];
      const where = whereOf([...filter, ...after]);
      return index === null
        ? `SELECT count(*) AS total FROM tasks${where}`
        : dialect.count(`${from}${where}`);
    }),
    timed: past
      ? null
      : page(limit, dialect.timedOrder(index), (place) => [
          `status_timestamp > ${place(statusAfter ?? '')}`,
          ...(cursor ? [dialect.before(cursor, place)] : []),
        ]),
    untimed: (rows) =>
      statusAfter !== undefined && statusAfter !== ''
        ? null
        : page(rows, dialect.untimedOrder, (place) => [
            'status_timestamp IS NULL',
            ...(past ? [`id < ${place(cursor.taskId)}`] : []),
          ]),
  };
}

/** Gives a value's place in the text. */
type Place = (value: unknown) => string;

function statement(dialect: Dialect, write: (place: Place) => string): ListStatement {
  const values: unknown[] = [];
  const text = write((value) => dialect.place(values.push(value)));
  return { text, values };
}

function filterOf({ scope, contextId, state }: TaskListQuery, place: Place): string[] {
  return [
    ...(scope ? [`tenant = ${place(scope.tenant)}`, `owner = ${place(scope.owner)}`] : []),
    ...(contextId === undefined ? [] : [`context_id = ${place(contextId)}`]),
    ...(state === undefined ? [] : [`state = ${place(state)}`]),
  ];
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
}

/** Indexes of a list, by what it is filtered; on MySQL a fourth, for none there is long enough for `id` and `state`. */
const BY_OWNER = 'tasks_tenant_owner_status_timestamp_id_idx';
const BY_STATE = 'tasks_tenant_owner_state_status_timestamp_id_idx';
const BY_CONTEXT = {
  sqlite: 'tasks_tenant_owner_context_id_status_timestamp_id_state_idx',
  postgresql: 'tasks_tenant_owner_context_id_status_timestamp_id_state_idx',
  mysql: 'tasks_tenant_owner_context_id_status_timestamp_idx',
};
const BY_CONTEXT_AND_STATE = {
  ...BY_CONTEXT,
  mysql: 'tasks_tenant_owner_context_id_state_status_timestamp_idx',
};

/** Null: every owner's. */
function indexOf(provider: PrismaProvider, { scope, contextId, state }: TaskListQuery): string | null {
  if (!scope) return null;
  if (contextId === undefined) return state === undefined ? BY_OWNER : BY_STATE;
  return (state === undefined ? BY_CONTEXT : BY_CONTEXT_AND_STATE)[provider];
}

interface Dialect {
  /** The place of the n-th parameter. */
  place(n: number): string;
  /** Makes the planner take this index. */
  hint(index: string): string;
  /** Counts the rows of an owner's list. */
  count(from: string): string;
  /** What comes after the cursor in the order of a list, in the form by which an index is entered. */
  before(cursor: NonNullable<TaskListQuery['cursor']>, place: Place): string;
  timedOrder(index: string | null): string;
  readonly untimedOrder: string;
}

const compareRows: Dialect['before'] = ({ statusTimestamp, taskId }, place) =>
  `(status_timestamp, id) < (${place(statusTimestamp)}, ${place(taskId)})`;
const plainCount = (from: string): string => `SELECT count(*) AS total FROM ${from}`;

const dialects: Record<PrismaProvider, Dialect> = {
  postgresql: {
    place: (n) => `$${n}`,
    // Its planner has statistics, and takes the index by itself.
    hint: () => '',
    // Asked for in the order of the index, and kept so by OFFSET: where an owner has much of the table, a count as
    // such would read the heap instead.
    count: (from) =>
      `SELECT count(*) AS total FROM (SELECT id FROM ${from} ORDER BY ${NEWEST_FIRST} OFFSET 0) matches`,
    before: compareRows,
    timedOrder: () => NEWEST_FIRST,
    untimedOrder: NEWEST_FIRST,
  },
  mysql: {
    place: () => '?',
    hint: (index) => ` FORCE INDEX (${index})`,
    count: plainCount,
    // Two ranges, which its optimiser makes of an OR and not of a comparison of rows.
    before: ({ statusTimestamp, taskId }, place) =>
      `(status_timestamp < ${place(statusTimestamp)}
        OR (status_timestamp = ${place(statusTimestamp)} AND id < ${place(taskId)}))`,
    // An index of contexts has no room for `id` as a column. InnoDB orders equal entries by it all the same, but the
    // server does not know and would sort the whole context.
    timedOrder: (index) => (index?.includes('context_id') === true ? 'status_timestamp DESC' : NEWEST_FIRST),
    untimedOrder: 'id DESC',
  },
  sqlite: {
    place: () => '?',
    hint: (index) => ` INDEXED BY ${index}`,
    count: plainCount,
    before: compareRows,
    timedOrder: () => NEWEST_FIRST,
    untimedOrder: NEWEST_FIRST,
  },
};
