import type { Dialect } from './dialect.js';
import type { GrowthSize } from './sizes.js';

/** Rows of one table: each column an SQL expression over the task's number `n` (and `seq`, for events). */
export interface RowSource {
  readonly table: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** Has every other task. */
export const MANY = { tenant: 'growth', owner: 'many' } as const;
/** Has twenty tasks, as each of the other owners. */
export const FEW = { tenant: 'growth', owner: 'few-2' } as const;
/** Holds one in ten of the tasks of `many`. */
export const LARGE_CONTEXT = 'context-large';
/** Holds ten tasks of `many`, as each of her other contexts. */
export const SMALL_CONTEXT = 'context-3';
/** The state of nine in ten tasks. */
export const COMMON_STATE = 'TASK_STATE_COMPLETED';
/** The state of one in fifty tasks, and of one in five of the large context. */
export const RARE_STATE = 'TASK_STATE_FAILED';
/** Holds every lease. */
export const HOLDER = 'replica-growth';

/** A number that scatters those below 2^32 without a collision, so that ids come in no order. */
const SCATTER = 2_654_435_761n;
const RANGE = 4_294_967_296n;
/** Makes an id as long as a prefixed UUID. */
const TAIL = '-4000-8000-00000000grow';
const START_MS = Date.UTC(2026, 0, 1);

/** The id of task number `n`, from 1. */
export function grownTaskId(n: number): string {
  return `task-${(BigInt(n) * SCATTER) % RANGE}${TAIL}`;
}

/** The status timestamp of task number `n`; two tasks of an owner share each. One in a hundred tasks has none. */
export function grownTimestamp(n: number): string {
  return new Date(START_MS + (n - (n % 4)) * 1_000).toISOString();
}

const TASK_ID = `'task-' || (n * ${SCATTER} % ${RANGE}) || '${TAIL}'`;
const ownerOf = ({ endedTasks }: GrowthSize): string =>
  `CASE WHEN n % 2 = 1 THEN '${MANY.owner}' ELSE 'few-' || (n % ${endedTasks / 20}) END`;
const contextOf = ({ endedTasks }: GrowthSize): string =>
  `CASE WHEN n % 20 = 1 THEN '${LARGE_CONTEXT}' ELSE 'context-' || (n % ${endedTasks / 10}) END`;
const stateOf = ({ endedTasks }: GrowthSize): string =>
  `CASE WHEN n > ${endedTasks} THEN 'TASK_STATE_WORKING' WHEN n * 7 % 50 < 45 THEN '${COMMON_STATE}'
        WHEN n * 7 % 50 = 47 THEN '${RARE_STATE}' ELSE 'TASK_STATE_CANCELED' END`;

/** `tasks`: the last `leases` of them run. One was made every second, the last a minute ago. */
export function taskRows(dialect: Dialect, size: GrowthSize): RowSource {
  const timestamp = `CASE WHEN n % 100 <> 9 THEN ${dialect.instant('n - n % 4')} END`;
  return {
    table: 'tasks',
    columns: {
      ...{ id: TASK_ID, tenant: `'${MANY.tenant}'`, owner: ownerOf(size), context_id: contextOf(size) },
      ...{ state: stateOf(size), status_timestamp: timestamp, version: String(size.eventsPerTask) },
      created_at: dialect.secondsFromNow(`n - ${size.endedTasks + size.leases + 60}`),
    },
  };
}

/** `task_snapshots`: one for a task that ended. */
export function snapshotRows(size: GrowthSize): RowSource {
  const payload = `'{"id":"' || ${TASK_ID} || '","history":[{"parts":[{"text":"${'grown '.repeat(40)}"}]}]}'`;
  return {
    table: 'task_snapshots',
    columns: { task_id: TASK_ID, version: String(size.eventsPerTask), payload },
  };
}

/** `task_events`: the second of a task carries a user's message. */
export function eventRows(): RowSource {
  const payload = `'{"artifactUpdate":{"taskId":"' || ${TASK_ID} || '","text":"${'grown '.repeat(20)}"}}'`;
  return {
    table: 'task_events',
    columns: {
      ...{ task_id: TASK_ID, seq: 'seq', kind: `CASE WHEN seq = 2 THEN 'message' ELSE 'artifactUpdate' END` },
      ...{ payload, write_id: `'write-' || n || '-' || seq`, message_id: `CASE WHEN seq = 2 THEN 'm-1' END` },
      ...{ holder: `'${HOLDER}'`, epoch: '1' },
    },
  };
}

/** `task_leases`, of the tasks that run: every other one has expired. */
export function leaseRows(dialect: Dialect, size: GrowthSize): RowSource {
  return {
    table: 'task_leases',
    columns: {
      ...{ task_id: TASK_ID, tenant: `'${MANY.tenant}'`, owner: ownerOf(size), holder: `'${HOLDER}'` },
      ...{ epoch: '1', acquired_at: dialect.secondsFromNow('-7200') },
      expires_at: dialect.secondsFromNow('CASE WHEN n % 4 < 2 THEN -3600 ELSE 3600 END'),
    },
  };
}

/**
 * `push_notification_configs`: one of each task, as where every client asks for pushes. Of ended tasks they are done, a
 * few are disabled. Of those that run, half have events to deliver and are due or claimed; the others wait for events.
 */
export function pushConfigRows(dialect: Dialect, size: GrowthSize): RowSource {
  const url = `'https://example.org/hook'`;
  const runs = `n > ${size.endedTasks}`;
  const due = dialect.secondsFromNow('CASE WHEN n % 4 < 2 THEN -60 ELSE 3600 END');
  return {
    table: 'push_notification_configs',
    columns: {
      origin: `'https://example.org'`,
      position: `CASE WHEN ${runs} AND n % 2 = 1 THEN 1 ELSE ${size.eventsPerTask} END`,
      status: `CASE WHEN ${runs} THEN 'active' WHEN n % 1000 = 7 THEN 'disabled' ELSE 'done' END`,
      due_at: `CASE WHEN ${runs} THEN ${due} END`,
      holder: `CASE WHEN ${runs} AND n % 4 = 3 THEN '${HOLDER}' END`,
      claim: '1',
      ...{ task_id: TASK_ID, config_id: `'c-1'`, tenant: `'${MANY.tenant}'`, owner: `'${MANY.owner}'` },
      ...{ url, payload: `'{"url":"https://example.org/hook"}'`, wire_version: `'1.0'` },
    },
  };
}

/** `push_dead_letters`: one of every tenth task; of some the operator has asked for another attempt. */
export function deadLetterRows(dialect: Dialect): RowSource {
  return {
    table: 'push_dead_letters',
    columns: {
      ...{
        task_id: TASK_ID,
        config_id: `'c-1'`,
        seq: '1',
        tenant: `'${MANY.tenant}'`,
        owner: `'${MANY.owner}'`,
      },
      ...{ attempts: '5', error: `'answered 500'`, body: `'{}'`, content_type: `'application/json'` },
      due_at: `CASE WHEN n % 500 = 3 THEN ${dialect.secondsFromNow('-60')} END`,
    },
  };
}
