import type { Database, FindTasks } from '@a2a-cluster/db';
import { PAGE } from './list-calls.js';
import {
  COMMON_STATE,
  FEW,
  HOLDER,
  LARGE_CONTEXT,
  MANY,
  RARE_STATE,
  SMALL_CONTEXT,
  grownTaskId,
} from './rows.js';
import type { GrowthCall } from './sizes.js';

/** What an operator can ask for that an index must answer; the name says by what it is entered. */
const filters: readonly (readonly [name: string, find: Partial<FindTasks>])[] = [
  ['everything', {}],
  ['a common state', { states: [COMMON_STATE] }],
  ['a rare state', { states: [RARE_STATE] }],
  ['states that nobody is in', { states: ['TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED'] }],
  ['an owner of many', MANY],
  ['an owner of few', FEW],
  ['an owner of none', { ...FEW, owner: 'nobody' }],
  ['a rare state of an owner of many', { ...MANY, states: [RARE_STATE] }],
  ['a rare state of an owner of few', { ...FEW, states: [RARE_STATE] }],
  ['a large context of an owner', { ...MANY, contextId: LARGE_CONTEXT }],
  ['a small context of an owner', { ...MANY, contextId: SMALL_CONTEXT }],
  ['the tenant of all', { tenant: MANY.tenant }],
  ['a holder', { holder: HOLDER }],
  ['a state of a holder', { holder: HOLDER, states: ['TASK_STATE_WORKING'] }],
  ['nobody as the holder', { holder: 'nobody' }],
];

const DAY_MS = 86_400_000;

/**
 * Pages of an operator: each filter as a first page, a page in the middle, and by age. `cursorAtMs` is a moment in the
 * middle of the tasks' creation.
 */
export function operatorPages({ cursorAtMs }: { readonly cursorAtMs: number }): readonly GrowthCall[] {
  const cursor = { createdAtMs: cursorAtMs, taskId: grownTaskId(1) };
  const places: readonly (readonly [name: string, more: Partial<FindTasks>])[] = [
    ['first page', {}],
    ['page in the middle', { cursor }],
    ['older than a time', { olderThanMs: DAY_MS / 4 }],
    [
      'younger than a time',
      { youngerThanMs: DAY_MS / 4, cursor: { ...cursor, createdAtMs: cursorAtMs + DAY_MS } },
    ],
  ];
  return filters.flatMap(([of, find]) =>
    places.map(([place, more]) => ({
      name: `${of}: ${place}`,
      run: (database: Database) => database.operators.findTasks({ ...find, ...more, limit: PAGE }),
    })),
  );
}

/** What else an operator reads. */
export const OPERATOR_READS: readonly GrowthCall[] = [
  { name: 'one task', run: ({ operators }) => operators.task(grownTaskId(7)) },
  {
    name: 'events',
    run: ({ operators }) => operators.events({ taskId: grownTaskId(7), after: 1, limit: 10 }),
  },
  { name: 'live tasks', run: ({ operators }) => operators.countLive() },
  { name: 'tasks without a lease', run: ({ operators }) => operators.countLeaseless() },
];
