import type { Database, PushSettlement } from '@a2a-cluster/db';
import { HOLDER, grownTaskId } from './rows.js';
import type { GrowthCall, GrowthSize } from './sizes.js';

const TTL_MS = 15_000;

/** What push delivery sends, each on configs of its own; to be run once and in this order. */
export function pushCalls({ endedTasks, eventsPerTask }: GrowthSize): readonly GrowthCall[] {
  /** The config of a running task that is claimed, the first of them number 0. */
  const claimed = (nth: number) => ({
    taskId: grownTaskId(endedTasks + 4 * nth + 3),
    configId: 'c-1',
    claim: 1,
  });
  /** And one that waits, neither claimed nor due. */
  const waiting = (nth: number) => grownTaskId(endedTasks + 4 * nth + 1);
  const claim = { holder: HOLDER, ttlMs: TTL_MS };
  const settled = { position: eventsPerTask, delivered: true };
  const retry = { kind: 'retry', delayMs: 1_000, error: 'answered 503' } as const;
  const settlements: PushSettlement[] = [
    { ...claimed(1), ...settled, next: { kind: 'release' } },
    { ...claimed(2), ...settled, next: { kind: 'keep', ttlMs: TTL_MS } },
    { ...claimed(3), ...settled, next: retry },
  ];
  const letter = { attempts: 5, error: 'answered 500', body: '{}', contentType: 'application/json' };
  const taskId = grownTaskId(13);
  const call = (name: string, run: (queue: Database['pushQueue']) => Promise<unknown>): GrowthCall => ({
    name,
    run: ({ pushQueue }) => run(pushQueue),
  });
  return [
    call('claimOf', (queue) => queue.claimOf({ ...claim, taskIds: [1, 2, 3, 4].map(waiting) })),
    call('claimDue', (queue) => queue.claimDue({ ...claim, limit: 20, exceptOrigins: ['https://other'] })),
    call('settle', (queue) => queue.settle(settlements)),
    call('storeBody', (queue) => queue.storeBody({ ...claimed(4), seq: 2, body: '{}' })),
    call('bury', (queue) => queue.bury({ ...claimed(4), ...letter, seq: 2, ttlMs: TTL_MS })),
    call('retry', (queue) => queue.retry({ taskId })),
    call('retry of a config', (queue) => queue.retry({ taskId, configId: 'c-1' })),
    call('claimDeadLetters', (queue) => queue.claimDeadLetters({ ...claim, limit: 20 })),
    call('settleDeadLetter', (queue) =>
      queue.settleDeadLetter({ taskId, configId: 'c-1', seq: 1, claim: 1, error: null }),
    ),
    call('list', (queue) => queue.list({ limit: 20 })),
    call('list of a task', (queue) => queue.list({ taskId, limit: 20 })),
    call('listDeadLetters', (queue) => queue.listDeadLetters({ limit: 20 })),
    call('listDeadLetters of a task', (queue) => queue.listDeadLetters({ taskId, limit: 20 })),
    call('counts', (queue) => queue.counts()),
  ];
}
