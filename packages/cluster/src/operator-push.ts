import { isStorableKey } from '@a2a-cluster/core';
import type { PushDelivery } from '@a2a-cluster/push-notifications';
import type { Database, DeadLetterListing, PushCounts, PushListing } from '@a2a-cluster/db';

/** What an operator may ask and do about webhooks; not scoped by owner, so never for callers. Shows no secrets. */
export interface PushOperator {
  /** Deliveries that wait, are under way or disabled, the longest due first; of one task: all of its webhooks. */
  deliveries(options?: FindPushes): Promise<readonly PushListing[]>;
  /** Events that were given up, the youngest first. */
  deadLetters(options?: FindPushes): Promise<readonly DeadLetterListing[]>;
  /** How many of each there are. */
  counts(): Promise<PushCounts>;
  /**
   * Makes what waits due at once, enables disabled webhooks, and queues dead letters for one more attempt (out of
   * their order, with the id they had). Of one webhook of the task, or of all. A running replica that is asked looks for
   * them at once; any other sends them within some ten seconds.
   */
  retry(find: {
    readonly taskId: string;
    readonly configId?: string;
  }): Promise<{ readonly configs: number; readonly deadLetters: number }>;
}

/** Which rows. */
export interface FindPushes {
  readonly taskId?: string;
  /** Default 100. */
  readonly limit?: number;
}

const DEFAULT_LIMIT = 100;

/** The operator's part that is about webhooks. */
export function createPushOperator(parts: {
  readonly database: Pick<Database, 'pushQueue'>;
  /** Of this replica, where it has one: it looks for what was asked for at once. */
  readonly delivery: Pick<PushDelivery, 'asked'> | null;
}): PushOperator {
  const { database, delivery } = parts;
  const { pushQueue } = database;
  const rows = ({ taskId, limit = DEFAULT_LIMIT }: FindPushes = {}): { taskId?: string; limit: number } => ({
    limit,
    ...(taskId === undefined ? {} : { taskId }),
  });
  const exists = (id: string | undefined): boolean => id === undefined || isStorableKey(id);
  return {
    deliveries: async (find) => (exists(find?.taskId) ? pushQueue.list(rows(find)) : []),
    deadLetters: async (find) => (exists(find?.taskId) ? pushQueue.listDeadLetters(rows(find)) : []),
    counts: () => pushQueue.counts(),
    async retry(find) {
      if (!exists(find.taskId) || !exists(find.configId)) return { configs: 0, deadLetters: 0 };
      const touched = await pushQueue.retry(find);
      if (touched.configs + touched.deadLetters > 0) delivery?.asked();
      return touched;
    },
  };
}
