import { RequestContext } from '@a2a-js/sdk/server';
import { ClusterError } from '@a2a-cluster/core';

/** What an executor can know of the turn it runs, by {@link turnOf}. */
export interface TurnHandle {
  /** Aborts when the turn must stop: cancelled, lease lost, replica closing, too far ahead of the database. */
  readonly signal: AbortSignal;
  /** The turn's epoch; undefined for a new task until its first event is stored (protocol 4). */
  readonly epoch: number | undefined;
  /** Resolves with the epoch when the lease is held; rejects when the turn ends without one. */
  readonly held: Promise<number>;
  /** Which run of the same message this is. Turns are never run again by themselves: always 1. */
  readonly attempt: number;
  /** @throws ClusterError `LEASE_LOST` when this replica may no longer act for the task. */
  assertHeld(): void;
  /** Milliseconds the lease can be trusted without another renewal, by this process's clock; 0: not held. */
  readonly remainingMs: number;
  /** Resolves when every event published so far is stored, or will never be. */
  drained(): Promise<void>;
}

const handles = new WeakMap<RequestContext, TurnHandle>();

/** The SDK's request context, with the turn's signal for executors that import nothing of ours. */
export class ClusterRequestContext extends RequestContext {
  /** See {@link TurnHandle.signal}. */
  declare readonly signal: AbortSignal;
}

/** What a request context is made of. */
export interface RequestContextParts {
  readonly request: ConstructorParameters<typeof RequestContext>[0];
  readonly taskId: string;
  readonly contextId: string;
  readonly context: ConstructorParameters<typeof RequestContext>[3];
  readonly task: ConstructorParameters<typeof RequestContext>[4];
  readonly referenceTasks: ConstructorParameters<typeof RequestContext>[5];
}

/** Makes the context an executor is given and ties the turn to it. */
export function createRequestContext(parts: RequestContextParts, handle: TurnHandle): ClusterRequestContext {
  const { request, taskId, contextId, context, task, referenceTasks } = parts;
  const made = new ClusterRequestContext(request, taskId, contextId, context, task, referenceTasks);
  Object.defineProperty(made, 'signal', { value: handle.signal, enumerable: true });
  handles.set(made, handle);
  return made;
}

/**
 * The turn behind the request context an executor was given.
 * @throws ClusterError `BUG` when the context was made by another handler.
 */
export function turnOf(context: RequestContext): TurnHandle {
  const handle = handles.get(context);
  if (handle !== undefined) return handle;
  throw new ClusterError('BUG', 'this request context does not come from a cluster request handler');
}
