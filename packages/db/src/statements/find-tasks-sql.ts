import { wantedStates } from './find-tasks.js';
import type { FindTasks } from './operator-queries.js';

/** The index of tasks by state and creation, on every database. */
export const STATE_INDEX = 'tasks_state_created_at_id_idx';

/** How a database writes what {@link findTasksSql} is made of: `c` a candidate, `t` a task of the page, `x` its lease. */
export interface FindDialect {
  /** What a row of the answer is, of `t` and, joined from the left, `x`. */
  readonly columns: string;
  /** `tasks` under the name `c`, with a hint where the database takes one. `owned`: tenant and owner are both given. */
  from(find: { readonly owned: boolean }): string;
  /** The nth parameter, from 1. */
  parameter(place: number): string;
  /** The moment so many milliseconds before now, fixed for the statement. */
  ago(ms: string): string;
  /** `c` stands after the position in the order of the page. Gives parameters by `add`. */
  after(cursor: { readonly createdAtMs: number; readonly taskId: string }, add: AddParameter): string;
}

/** Adds a value and gives its place in the text. */
export type AddParameter = (value: string | number) => string;

const COLUMNS = 'c.id, c.tenant, c.owner, c.context_id, c.state, c.version, c.created_at, c.updated_at';
const ORDER = (of: string): string => `ORDER BY ${of}.created_at DESC, ${of}.id DESC`;

/**
 * The text and the values of one page. Each state is a range of an index that ends in the order of the page, so of each
 * no more is read than a page, and the pages are merged; a holder's tasks are found by its leases, which are few.
 * States are constants: a plan can use how many tasks are in each.
 */
export function findTasksSql(
  find: FindTasks,
  dialect: FindDialect,
): { readonly text: string; readonly values: readonly (string | number)[] } {
  const values: (string | number)[] = [];
  const add: AddParameter = (value) => {
    values.push(value);
    return dialect.parameter(values.length);
  };
  const heads = find.holder === undefined ? headsOf(find, { dialect, add }) : heldBy(find, { dialect, add });
  const text = `
SELECT ${dialect.columns} FROM (${heads}) t LEFT JOIN task_leases x ON x.task_id = t.id
 ${ORDER('t')} LIMIT ${add(find.limit)}`;
  return { text, values };
}

interface Builder {
  readonly dialect: FindDialect;
  readonly add: AddParameter;
}

function headsOf(find: FindTasks, { dialect, add }: Builder): string {
  const owned = find.tenant !== undefined && find.owner !== undefined;
  return wantedStates(find)
    .map((state, index) => {
      const where = [`c.state = '${state}'`, ...conditionsOf(find, { dialect, add })].join(' AND ');
      return `SELECT * FROM (SELECT ${COLUMNS} FROM ${dialect.from({ owned })}
        WHERE ${where} ${ORDER('c')} LIMIT ${add(find.limit)}) h${index}`;
    })
    .join('\nUNION ALL ');
}

function heldBy(find: FindTasks, { dialect, add }: Builder): string {
  const states = wantedStates(find).map((state) => `'${state}'`);
  const where = [
    `x.holder = ${add(find.holder ?? '')}`,
    `c.state IN (${states.join(', ')})`,
    ...conditionsOf(find, { dialect, add }),
  ].join(' AND ');
  return `SELECT ${COLUMNS} FROM task_leases x JOIN tasks c ON c.id = x.task_id
    WHERE ${where} ${ORDER('c')} LIMIT ${add(find.limit)}`;
}

function conditionsOf(find: FindTasks, { dialect, add }: Builder): string[] {
  const { tenant, owner, contextId, olderThanMs, youngerThanMs, cursor } = find;
  return [
    ...(tenant === undefined ? [] : [`c.tenant = ${add(tenant)}`]),
    ...(owner === undefined ? [] : [`c.owner = ${add(owner)}`]),
    ...(contextId === undefined ? [] : [`c.context_id = ${add(contextId)}`]),
    ...(olderThanMs === undefined ? [] : [`c.created_at < ${dialect.ago(add(olderThanMs))}`]),
    ...(youngerThanMs === undefined ? [] : [`c.created_at > ${dialect.ago(add(youngerThanMs))}`]),
    ...(cursor === undefined ? [] : [dialect.after(cursor, add)]),
  ];
}
