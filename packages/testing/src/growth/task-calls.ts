import { randomUUID } from 'node:crypto';
import type { NewEvent } from '@a2a-cluster/core';
import type { Database, TaskMove } from '@a2a-cluster/db';
import { FEW, HOLDER, MANY, grownTaskId } from './rows.js';
import type { GrowthCall, GrowthSize } from './sizes.js';

/** Tasks that are asked for together. */
const SOME = 20;
const TTL_MS = 15_000;
/** So few that they are counted. */
const MOST_MESSAGES = 2;

const update = (): NewEvent => ({ kind: 'statusUpdate', payload: '{}', writeId: randomUUID() });
const stays: TaskMove = {
  ...{ state: null, statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
};

/** A task of `many` whose lease has not expired, the first of them number 1. */
function runningTask({ endedTasks, eventsPerTask }: GrowthSize, nth: number) {
  const taskId = grownTaskId(endedTasks + 4 * nth + 3);
  return { taskId, scope: MANY, holder: HOLDER, epoch: 1, expectedVersion: eventsPerTask };
}

/** What is asked about tasks and their logs. Changes nothing. */
export function readCalls({ endedTasks }: GrowthSize): readonly GrowthCall[] {
  const taskId = grownTaskId(Math.floor(endedTasks / 2));
  const taskIds = Array.from({ length: SOME }, (_, n) =>
    grownTaskId(Math.floor((n * endedTasks) / SOME) + 1),
  );
  const call = (name: string, run: (database: Database) => Promise<unknown>): GrowthCall => ({ name, run });
  return [
    call('look', ({ journal }) => journal.look({ taskId, scope: FEW })),
    call('findOwnWrite', ({ journal }) => journal.findOwnWrite({ taskId, seq: 1, writeId: 'write' })),
    call('readTask', ({ log }) => log.readTask({ taskId })),
    call('readTasks', ({ tasks }) => tasks.readTasks(taskIds)),
    call('readHeads', ({ log }) => log.readHeads(taskIds)),
    call('readEvents', ({ log }) => log.readEvents({ taskId, after: 1, limit: 100 })),
    call('readEventsOf', ({ log }) =>
      log.readEventsOf({ cursors: taskIds.map((id) => ({ taskId: id, after: 1 })), limit: 100 }),
    ),
    call('findMessage', ({ log }) => log.findMessage({ taskId, messageId: 'm-1' })),
    call('readLeases', ({ leases }) => leases.readLeases(taskIds)),
    call('nextExpiry', ({ leases }) => leases.nextExpiry()),
    call('load', ({ pushConfigs }) => pushConfigs.load({ taskId, scope: MANY })),
  ];
}

/** What changes tasks, each on a task of its own; to be run once and in this order. */
export function writeCalls(size: GrowthSize): readonly GrowthCall[] {
  const [committed, ended, reopened, cancelled, marked] = [1, 2, 3, 4, 5].map((n) => runningTask(size, n));
  if (!committed || !ended || !reopened || !cancelled || !marked) return [];
  const statusTimestamp = '2026-03-01T00:00:00.000Z';
  const { epoch, holder } = committed;
  const call = (name: string, run: (database: Database) => Promise<unknown>): GrowthCall => ({ name, run });
  return [
    call('commit of a chunk', ({ journal }) =>
      journal.commit({ ...committed, ...stays, events: [update()] }),
    ),
    call('commit of the end', ({ journal }) => {
      const move = {
        ...stays,
        state: 'TASK_STATE_COMPLETED',
        statusTimestamp,
        terminal: true,
        snapshot: '{}',
      };
      return journal.commit({ ...ended, ...move, events: [update()] });
    }),
    call('release', ({ leases }) => leases.release({ taskId: reopened.taskId, holder, epoch })),
    call('openTurn', ({ journal }) =>
      journal.openTurn({
        ...{ taskId: reopened.taskId, scope: MANY, contextId: null, holder, ttlMs: TTL_MS, takeOver: true },
        maxMessages: MOST_MESSAGES,
        event: { ...update(), kind: 'message', messageId: 'm-2' },
      }),
    ),
    call('openTurn, refused', ({ journal }) =>
      journal.openTurn({
        ...{ taskId: reopened.taskId, scope: MANY, contextId: null, holder, ttlMs: TTL_MS, takeOver: true },
        maxMessages: MOST_MESSAGES,
        event: { ...update(), kind: 'message', messageId: 'm-2' },
      }),
    ),
    call('cancel', ({ journal }) => journal.cancel({ ...cancelled, statusTimestamp, event: update() })),
    call('markCancel', ({ leases }) => leases.markCancel({ taskId: marked.taskId, epoch })),
    call('beat', ({ leases }) =>
      leases.beat({
        ...{ holder, ttlMs: TTL_MS },
        leases: [committed, marked].map(({ taskId }) => ({ taskId, epoch })),
      }),
    ),
    call('sweep', ({ journal }) => journal.sweep(sweepOf(100))),
    call('sweep of one task', ({ journal }) => journal.sweep({ ...sweepOf(1), taskId: committed.taskId })),
    call('sweepOrphans', ({ journal }) => journal.sweepOrphans(100)),
  ];
}

/** A sweep as the sweeper asks for it. */
export function sweepOf(limit: number) {
  return { limit, sweeper: 'replica-sweeper', statusTimestamp: '2026-03-01T00:00:00.000Z', text: 'gone' };
}
