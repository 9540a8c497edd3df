import { DefaultRequestHandler, type A2ARequestHandler, type AgentExecutor } from '@a2a-js/sdk/server';
import { ClusterError } from '@a2a-cluster/core';
import type { PushConfigStore } from '@a2a-cluster/push-notifications';
import type { ClusterOptions } from './options.js';

/** The SDK's own handler answers what needs no turn; its executor is never called. */
export function createInnerHandler(parts: {
  readonly options: ClusterOptions;
  readonly store: ConstructorParameters<typeof DefaultRequestHandler>[1];
  readonly pushConfigs: PushConfigStore | null;
}): A2ARequestHandler {
  const { options, store, pushConfigs } = parts;
  return new DefaultRequestHandler(
    options.agentCard,
    store,
    neverExecutor,
    undefined,
    pushConfigs ?? undefined,
    pushConfigs ? { send: () => Promise.resolve() } : undefined,
    options.extendedAgentCard,
  );
}

const never = (): Promise<never> =>
  Promise.reject(new ClusterError('BUG', 'the inner handler runs no turns and cancels none'));

const neverExecutor: AgentExecutor = { execute: never, cancelTask: never };
