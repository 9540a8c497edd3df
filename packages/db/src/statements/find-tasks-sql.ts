import { wantedStates } from './find-tasks.js';
import type { FindTasks } from './operator-queries.js';

/** The index of tasks by state and creation, on every database. */
export const STATE_INDEX = 'tasks_state_created_at_id_idx';

/** How a database writes what {@link findTasksSql} is made of: `c` a candidate, `t` a task of the page, `x` its lease. */
export interface FindDialect {
  /** What a row of the answer is, of `t` and, joined from the left, `x`. */
  readonly columns: string;
  /** `tasks` under the name `c`, with a hint where the database takes one. */
  readonly from: string;
  /** `task_leases` as `x`, each with its task as `c`. */
  readonly held: string;
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

/** An owner, or a context, with more tasks than this is read in the order of the page: to sort them all takes long. */
const FEW = 2_000;

/**
 * Counts, up to a limit, the tasks that an owner's index would give, for a database whose planner does not know.
 * `?` stands for each value; null where the owner is not named in full.
 */
export function ownedProbe(
  find: FindTasks,
): { readonly text: string; readonly values: readonly string[] } | null {
  const { tenant, owner, contextId, holder } = find;
  if (tenant === undefined || owner === undefined || holder !== undefined) return null;
  const context = contextId === undefined ? '' : ' AND o.context_id = ?';
  return {
    text: `SELECT count(*) AS tasks FROM (
      SELECT 1 AS one FROM tasks o WHERE o.tenant = ? AND o.owner = ?${context} LIMIT ${FEW + 1}) p`,
    values: [tenant, owner, ...(contextId === undefined ? [] : [contextId])],
  };
}

/** The index to read by; `owned` is what {@link ownedProbe} counted, or null. */
export function indexFor(find: FindTasks, owned: number | null): 'state' | 'owner' | 'context' {
  if (owned === null || owned > FEW) return 'state';
  return find.contextId === undefined ? 'owner' : 'context';
}

interface Builder {
  readonly dialect: FindDialect;
  readonly add: AddParameter;
}

function headsOf(find: FindTasks, { dialect, add }: Builder): string {
  return wantedStates(find)
    .map((state, index) => {
      const where = [`c.state = '${state}'`, ...conditionsOf(find, { dialect, add })].join(' AND ');
      return `SELECT * FROM (SELECT ${COLUMNS} FROM ${dialect.from}
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
  return `SELECT ${COLUMNS} FROM ${dialect.held}
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
