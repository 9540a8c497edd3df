import {
  createSilentLogger,
  createSystemClock,
  isTerminalName,
  type Clock,
  type EventRow,
  type Logger,
  type Scope,
  type Service,
  type StateName,
} from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import type { DeliveryCounts } from './delivery/counters.js';
import { DeliveryEngine } from './delivery/engine.js';
import { resolveDeliveryLimits, type PushDeliveryLimits } from './delivery/options.js';
import type { WebhookClient } from './webhook/client.js';

/** Events that were committed; see `CommitListener` of the journal. */
export interface DeliveredEvents {
  readonly taskId: string;
  readonly scope: Scope;
  readonly rows: readonly EventRow[];
  /** The state after them, where it is known. */
  readonly head?: { readonly state: StateName };
}

/** What a delivery is doing; the counts are since its start. */
export interface PushDeliveryStatus {
  /** Attempts under way. */
  readonly inFlight: number;
  /** Configs whose deliveries are this replica's now. */
  readonly claims: number;
  readonly ends: DeliveryCounts;
}

/**
 * Delivers events to the webhooks of their tasks (protocol 9): at least once, in order per task and config, from the
 * log. What this replica commits it delivers at once; what others left is taken over when their claims run out.
 */
export interface PushDelivery extends Service {
  /** Tells of a commit. Does no work in the caller's turn of the event loop. Never throws. */
  delivered(events: DeliveredEvents): void;
  /** Tells of a config that was registered or enabled here. Never throws. */
  registered(taskId: string): void;
  /** Tells that an operator has asked for retries: they are looked for at once. Never throws. */
  asked(): void;
  /** Resolves when nothing is under way here. What waits for a retry is not waited for. */
  drained(): Promise<void>;
  /** No I/O. */
  status(): PushDeliveryStatus;
  /**
   * Goes on for `graceMs` (default 1 000), then gives every claim back, for others to go on with at once. An attempt
   * that is cut counts for nothing and is made again, by whoever comes next, with the same id.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** What {@link createPushDelivery} needs. */
export interface PushDeliveryOptions {
  readonly database: Pick<Database, 'log' | 'tasks' | 'pushQueue'>;
  /** Closed with the delivery. */
  readonly client: WebhookClient;
  /** `<REPLICA_ID>-<boot>`: whose the claims are. */
  readonly holder: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: PushDeliveryLimits;
}

const DEFAULT_GRACE_MS = 1_000;

/**
 * A delivery; nothing is sent before `start`.
 * @throws ClusterError `CONFIG_INVALID` for limits that do not add up.
 */
export function createPushDelivery(options: PushDeliveryOptions): PushDelivery {
  const { database, client, holder, clock = createSystemClock(), logger = createSilentLogger() } = options;
  const limits = resolveDeliveryLimits(options.limits);
  const engine = new DeliveryEngine({ database, client, holder, clock, logger, limits });
  let closed: Promise<void> | null = null;
  return {
    start: () => {
      if (closed === null) engine.start();
      return Promise.resolve();
    },
    delivered: ({ taskId, rows, head }) =>
      engine.committed({ taskId, rows, ended: head !== undefined && isTerminalName(head.state) }),
    registered: (taskId) => engine.registered(taskId),
    asked: () => engine.asked(),
    drained: () => engine.idle(),
    status: () => engine.status(),
    close: ({ graceMs = DEFAULT_GRACE_MS } = {}) => (closed ??= engine.close(graceMs)),
  };
}
