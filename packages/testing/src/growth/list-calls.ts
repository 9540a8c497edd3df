import type { Database, TaskListQuery } from '@a2a-cluster/db';
import {
  COMMON_STATE,
  FEW,
  LARGE_CONTEXT,
  MANY,
  RARE_STATE,
  SMALL_CONTEXT,
  grownTaskId,
  grownTimestamp,
} from './rows.js';
import type { GrowthCall, GrowthSize } from './sizes.js';

/** Tasks of a page. */
export const PAGE = 50;

type Filter = Pick<TaskListQuery, 'scope' | 'contextId' | 'state' | 'statusAfter'>;

/** Every combination of owner, context and state that a caller can ask for. */
const filters: readonly (readonly [name: string, filter: Filter])[] = [
  ['an owner of many', { scope: MANY }],
  ['an owner of few', { scope: FEW }],
  ['a common state', { scope: MANY, state: COMMON_STATE }],
  ['a rare state', { scope: MANY, state: RARE_STATE }],
  ['a state of an owner of few', { scope: FEW, state: RARE_STATE }],
  ['a large context', { scope: MANY, contextId: LARGE_CONTEXT }],
  ['a small context', { scope: MANY, contextId: SMALL_CONTEXT }],
  ['a common state of a large context', { scope: MANY, contextId: LARGE_CONTEXT, state: COMMON_STATE }],
  ['a rare state of a large context', { scope: MANY, contextId: LARGE_CONTEXT, state: RARE_STATE }],
  ['a state of a small context', { scope: MANY, contextId: SMALL_CONTEXT, state: COMMON_STATE }],
];

/** Lists: each filter as a first page, a page in the middle, one of tasks without a time, and by time. */
export function listCalls({ endedTasks }: GrowthSize): readonly GrowthCall[] {
  const middle = Math.floor(endedTasks / 2);
  const cursor = { statusTimestamp: grownTimestamp(middle), taskId: grownTaskId(middle) };
  const places: readonly (readonly [name: string, more: Partial<TaskListQuery>])[] = [
    ['first page', {}],
    ['page in the middle', { cursor }],
    ['page without a time', { cursor: { statusTimestamp: '', taskId: 'task-5' } }],
    ['since a time', { statusAfter: grownTimestamp(Math.floor(endedTasks * 0.9)) }],
    ['since a time, page in the middle', { statusAfter: grownTimestamp(Math.floor(endedTasks / 4)), cursor }],
  ];
  return filters.flatMap(([of, filter]) =>
    places.map(([place, more]) => ({
      name: `${of}: ${place}`,
      run: (database: Database) => database.tasks.list({ ...filter, ...more, limit: PAGE }),
    })),
  );
}
