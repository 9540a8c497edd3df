import { randomUUID } from 'node:crypto';
import {
  encodeEvent,
  type Clock,
  type EventRow,
  type LogMethod,
  type Scope,
  type TaskEvent,
} from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { Role, TaskState } from '@a2a-js/sdk';
import { ServerCallContext } from '@a2a-js/sdk/server';
import {
  createPushConfigStore,
  createPushDelivery,
  createWebhookAddressPolicy,
  createWebhookClient,
  type PushConfigStore,
  type PushDelivery,
  type PushDeliveryLimits,
} from '../src/index.js';

/** Whose every task here is. */
export const scope: Scope = { tenant: 'north', owner: 'team-1' };

/** A call of its owner's. */
export const callOf = (requestedVersion = '1.0'): ServerCallContext =>
  new ServerCallContext({ tenant: 'north', requestedVersion });

/** A status update with a number to know it by. */
export const tick = (taskId: string, index: number): TaskEvent => ({
  kind: 'statusUpdate',
  data: {
    ...{ taskId, contextId: 'c', metadata: { index } },
    status: { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined },
  },
});

/** A user's message, which no webhook gets. */
export const said = (taskId: string): TaskEvent => ({
  kind: 'message',
  data: {
    ...{ messageId: randomUUID(), contextId: 'c', taskId, role: Role.ROLE_USER, parts: [] },
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
  },
});

/** The first event of a task. */
export const created = (id: string): TaskEvent => ({
  kind: 'task',
  data: { id, contextId: 'c', status: undefined, artifacts: [], history: [], metadata: undefined },
});

/** The number of a {@link tick} in a body. */
export const indexOf = (body: Record<string, unknown>): unknown =>
  (body['statusUpdate'] as { metadata?: { index?: unknown } } | undefined)?.metadata?.index;

/** A database in memory with the parts of push over it. */
export interface PushWorld {
  readonly database: Database;
  readonly store: PushConfigStore;
  readonly logged: Record<string, unknown>[];
  /** Another replica's delivery; started. Closed with the world. */
  replica(holder: string, limits?: PushDeliveryLimits): Promise<PushDelivery>;
  /** A task whose first events are these, told to nobody. */
  createTask(taskId: string, events?: readonly TaskEvent[]): Promise<void>;
  /** Appends events to a task's log and gives the rows, as the journal would tell of them. */
  append(taskId: string, events: readonly TaskEvent[], how?: { terminal?: boolean }): Promise<EventRow[]>;
  close(): Promise<void>;
}

/** Times short enough for a test: nothing waits for longer than a moment. */
export const QUICK: PushDeliveryLimits = {
  attemptTimeoutMs: 500,
  claimTtlMs: 1_500,
  pollIntervalMs: 50,
  firstRetryMs: 20,
  longestRetryMs: 80,
};

/** Makes one. */
export function createPushWorld(clock?: Clock): PushWorld {
  const logged: Record<string, unknown>[] = [];
  const write: LogMethod = (fields) => void logged.push(fields);
  const logger = { debug: write, info: write, warn: write, error: write };
  const database = createMemoryDatabase(clock ? { clock } : {});
  const ownerResolver = (): string => 'team-1';
  const store = createPushConfigStore({ database, ownerResolver, allowPrivate: true });
  const versions = new Map<string, number>();
  const replicas: PushDelivery[] = [];
  return {
    ...{ database, store, logged },
    async replica(holder, limits = QUICK) {
      const policy = createWebhookAddressPolicy({ allowPrivate: true });
      const client = createWebhookClient({ policy, timeoutMs: limits.attemptTimeoutMs ?? 500 });
      const delivery = createPushDelivery({ database, client, holder, logger, limits });
      replicas.push(delivery);
      await delivery.start();
      return delivery;
    },
    async createTask(taskId, events = [created(taskId)]) {
      await database.journal.createTask({
        ...{ taskId, scope, contextId: 'c', holder: 'r', ttlMs: 60_000, state: 'TASK_STATE_WORKING' },
        ...{ statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
        events: events.map((event) => newEvent(event)),
      });
      versions.set(taskId, events.length);
    },
    async append(taskId, events, { terminal = false } = {}) {
      const expectedVersion = versions.get(taskId) ?? 0;
      const fresh = events.map((event) => newEvent(event));
      const state = terminal ? 'TASK_STATE_COMPLETED' : null;
      const written = await database.journal.commit({
        ...{ taskId, expectedVersion, holder: 'r', epoch: 1, events: fresh, state },
        ...{ statusTimestamp: null, terminal, clearsPending: false, snapshot: null },
      });
      if (!written.ok) throw new Error('not written');
      versions.set(taskId, written.version);
      return fresh.map(({ kind, payload }, index) => ({
        ...{ taskId, seq: expectedVersion + index + 1, kind, payload },
        ...{ messageId: null, holder: 'r', epoch: 1 },
      }));
    },
    async close() {
      await Promise.all(replicas.map((delivery) => delivery.close({ graceMs: 0 })));
    },
  };
}

function newEvent(event: TaskEvent): { kind: TaskEvent['kind']; payload: string; writeId: string } {
  return { kind: event.kind, payload: encodeEvent(event), writeId: randomUUID() };
}
