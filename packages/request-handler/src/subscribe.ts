import type { StreamResponse } from '@a2a-js/sdk';
import { isTerminalName, type Logger, type Scope, type Telemetry } from '@a2a-cluster/core';
import type { EventStream } from '@a2a-cluster/event-stream';
import type { TaskReader } from '@a2a-cluster/task-store';
import { meaningOf, stateAfter } from './end-rules.js';
import { taskNotFound, taskNotSubscribable, taskPurged } from './refusals.js';
import { withReset } from './reset-to-task.js';
import type { ClientConnection } from './request-signal.js';
import { toClientResponse } from './visible-response.js';

/** Who subscribes to what. */
export interface Subscription {
  readonly taskId: string;
  readonly scope: Scope;
  readonly connection: ClientConnection | undefined;
}

/** What a subscription reads from. */
export interface SubscribeParts {
  readonly stream: EventStream;
  readonly reader: TaskReader;
  readonly logger: Logger;
  /** Default: nobody. */
  readonly telemetry?: Telemetry | undefined;
}

/**
 * The task as it is, then its events, wherever its turn runs (protocol 7). Ends at a terminal event and at a request
 * for input; on a parked task it stays open and follows the next turn. Where events were pruned before they could be
 * sent, the task as it is then takes their place and is the last thing.
 *
 * @throws A2AError: not found, ended already, or deleted meanwhile.
 */
export function subscribe(
  parts: SubscribeParts,
  subscription: Subscription,
): AsyncGenerator<StreamResponse, void, undefined> {
  return withReset(parts, subscription, follow(parts, subscription));
}

async function* follow(
  parts: SubscribeParts,
  subscription: Subscription,
): AsyncGenerator<StreamResponse, void, undefined> {
  const { taskId, scope, connection } = subscription;
  const opened = await parts.stream.open({ taskId, scope, ...(connection && { signal: connection.signal }) });
  if (opened === null) throw taskNotFound(taskId);
  const { stored, tail } = opened;
  try {
    if (isTerminalName(stored.state)) throw taskNotSubscribable(taskId, stored.state);
    const task = parts.reader.fold(stored);
    yield { payload: { $case: 'task', value: task } };
    await connection?.writable();
    let state = task.status?.state;
    for (let item = await tail.next(); item !== null; item = await tail.next()) {
      if (item.type === 'gone') throw taskPurged(taskId);
      if (item.type === 'head' || item.event.kind === 'message') continue;
      const meaning = meaningOf(item.event, state);
      state = stateAfter(item.event) ?? state;
      yield toClientResponse({ type: 'event', row: item.row, event: item.event, meaning }, undefined);
      if (meaning === 'terminal' || meaning === 'input_required') return;
      await connection?.writable();
    }
  } finally {
    tail.close();
  }
}
