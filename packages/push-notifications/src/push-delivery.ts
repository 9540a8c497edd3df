import {
  createSilentLogger,
  decodeEvent,
  errorText,
  toStreamResponse,
  type EventRow,
  type Logger,
  type Scope,
} from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import { createTaskReader } from '@a2a-cluster/task-store';
import type { AgentCard } from '@a2a-js/sdk';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';
import type { PushNotificationSender } from '@a2a-js/sdk/server';
import { createContextReader, type ContextReader } from './context-reader.js';
import { DeliveryQueue, type QueueLimits } from './delivery-queue.js';
import type { DeliveryContext, PushConfigStore } from './push-config-store.js';
import { createTaskAtRow, type TaskAtRow } from './task-at-row.js';

/** Events that were committed; see `CommitListener` of the journal. */
export interface DeliveredEvents {
  readonly taskId: string;
  readonly scope: Scope;
  /** In order of seq. */
  readonly rows: readonly EventRow[];
}

/** Sends committed events to the webhooks of their task (protocol 9). */
export interface PushDelivery {
  /**
   * Called after a commit, by whoever committed: holder, sweeper or canceller. Returns at once, never throws; the
   * sends go on behind it, in order per task. `message` rows are not sent.
   */
  delivered(events: DeliveredEvents): void;
  /** Resolves when nothing waits and nothing is being sent; never rejects. Bound it: a sender may hang. */
  drained(): Promise<void>;
}

/** What {@link createPushDelivery} needs. */
export interface PushDeliveryOptions {
  readonly store: PushConfigStore;
  /** Read for webhooks of protocol 0.3 only. */
  readonly database: Pick<Database, 'log' | 'tasks'>;
  /**
   * Called once per event, one at a time per task, with a context that resolves to the task's scope. Default: the
   * SDK's sender, which speaks 1.0 and 0.3, as the config was registered: 5 s per attempt, one attempt.
   */
  readonly sender?: PushNotificationSender;
  readonly logger?: Logger;
  /** With a card that has no push notifications nothing is ever sent. */
  readonly card?: AgentCard;
  /** Default 4 MiB per task, 64 MiB in all. Over it the oldest waiting events of a task are not sent. */
  readonly limits?: QueueLimits;
}

const DEFAULT_LIMITS: QueueLimits = { perTaskBytes: 4 * 1024 * 1024, totalBytes: 64 * 1024 * 1024 };

const LEGACY_VERSION = '0.3';

/** A delivery with a queue in this process's memory: what waits when the process dies is not sent. */
export function createPushDelivery(options: PushDeliveryOptions): PushDelivery {
  const enabled = options.card === undefined || options.card.capabilities?.pushNotifications === true;
  const delivery = new QueuedDelivery(options);
  return {
    delivered: (events) => {
      if (enabled) delivery.add(events);
    },
    drained: () => delivery.drained(),
  };
}

class QueuedDelivery {
  private readonly queue: DeliveryQueue;
  private readonly sender: PushNotificationSender;
  private readonly logger: Logger;
  private readonly contexts: ContextReader;
  private waiters: (() => void)[] = [];

  constructor(private readonly options: PushDeliveryOptions) {
    this.queue = new DeliveryQueue(options.limits ?? DEFAULT_LIMITS);
    this.sender = options.sender ?? createLegacyAwarePushNotificationSender(options.store);
    this.logger = options.logger ?? createSilentLogger();
    this.contexts = createContextReader(options.store);
  }

  add({ taskId, scope, rows }: DeliveredEvents): void {
    const shown = rows.filter((row) => row.kind !== 'message');
    if (shown.length === 0) return;
    const { isNew, dropped } = this.queue.add({ taskId, scope, rows: shown });
    if (dropped > 0)
      this.logger.warn({ taskId, dropped }, 'events are not pushed: the webhooks are too slow');
    if (isNew) void this.work(taskId);
  }

  drained(): Promise<void> {
    if (this.queue.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  /** One at a time per task. What is committed meanwhile waits, and the next round takes it with one query. */
  private async work(taskId: string): Promise<void> {
    // Not in the caller's own turn of the event loop: it has streams to feed first.
    await Promise.resolve();
    for (let next = this.queue.take(taskId); next !== null; next = this.queue.take(taskId)) {
      try {
        await this.deliver({ taskId, ...next });
      } catch (error) {
        this.logger.error({ taskId, reason: errorText(error) }, 'events could not be pushed');
      }
    }
    this.queue.finish(taskId);
    if (this.queue.size > 0) return;
    const { waiters } = this;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }

  private async deliver({ taskId, scope, rows }: DeliveredEvents): Promise<void> {
    const { database } = this.options;
    const context = await this.contexts.read({ taskId, scope });
    if (context === null) return;
    const whole = context.configs.some(({ wireVersion }) => wireVersion === LEGACY_VERSION);
    const taskAt = whole ? createTaskAtRow({ reader: createTaskReader({ database }), taskId, scope }) : null;
    for (const row of rows) await this.send({ row, context, taskAt });
  }

  private async send(one: {
    readonly row: EventRow;
    readonly context: DeliveryContext;
    readonly taskAt: TaskAtRow | null;
  }): Promise<void> {
    const { row, context, taskAt } = one;
    try {
      const event = decodeEvent(row.kind, row.payload);
      if (event.kind === 'message') return;
      await this.sender.send(toStreamResponse(event), context, (await taskAt?.(row)) ?? undefined);
    } catch (error) {
      this.logger.error(
        { taskId: row.taskId, seq: row.seq, reason: errorText(error) },
        'an event could not be pushed',
      );
    }
  }
}
