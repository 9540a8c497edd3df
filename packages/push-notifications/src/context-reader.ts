import DataLoader from 'dataloader';
import type { Scope } from '@a2a-cluster/core';
import { MOST_TASKS_AT_ONCE } from '@a2a-cluster/db';
import type { DeliveryContext, PushConfigStore } from './push-config-store.js';

/** Reads what a delivery needs to know of its task's webhooks. */
export interface ContextReader {
  /** As the store gives it now; asked again at every call. @throws what the store throws. */
  read(task: { readonly taskId: string; readonly scope: Scope }): Promise<DeliveryContext | null>;
}

/**
 * One read at a time, for all tasks that came up during the one before: a sweep brings hundreds at once, and reads
 * share the connections that requests and the journal use.
 */
export function createContextReader(store: Pick<PushConfigStore, 'contextsFor'>): ContextReader {
  let queue: Promise<unknown> = Promise.resolve();
  let current: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<{ readonly taskId: string; readonly scope: Scope }, DeliveryContext | null>(
    (tasks) => {
      const read = store.contextsFor(tasks);
      current = read.catch(() => {});
      return read;
    },
    {
      cache: false,
      maxBatchSize: MOST_TASKS_AT_ONCE,
      batchScheduleFn: (runBatch) => {
        queue = queue.then(() => {
          runBatch();
          return current;
        });
      },
    },
  );
  return { read: (task) => loader.load(task) };
}
