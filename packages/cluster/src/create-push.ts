import type { OwnerResolver } from '@a2a-js/sdk/server';
import type { Clock, Logger } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';
import {
  createPushConfigStore,
  createPushDelivery,
  createWebhookAddressPolicy,
  createWebhookClient,
  resolveDeliveryLimits,
  webhookRefused,
  type PushConfigStore,
  type PushDelivery,
} from '@a2a-cluster/push-notifications';
import type { ClusterOptions } from './options.js';

/** What {@link createPush} needs. */
export interface PushParts {
  readonly options: Pick<ClusterOptions, 'agentCard' | 'push'>;
  readonly ownerResolver: OwnerResolver;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly holder: string;
}

/** Push of one replica; null parts where the card has no push notifications. */
export interface Push {
  readonly configs: PushConfigStore | null;
  readonly delivery: PushDelivery | null;
  /** @throws A2AError for an address that may not be registered. */
  readonly checkConfig: (config: { readonly url: string }) => Promise<void>;
}

/**
 * Composes the configs, the client and the delivery.
 * @throws ClusterError `CONFIG_INVALID` for limits, keys or addresses that do not add up.
 */
export function createPush(parts: PushParts): Push {
  const { options, ownerResolver, database, clock, logger, holder } = parts;
  const { allowPrivate, allow, signing, client: given, ...limits } = options.push ?? {};
  const policy = createWebhookAddressPolicy({
    ...(allowPrivate === undefined ? {} : { allowPrivate }),
    ...(allow === undefined ? {} : { allow }),
  });
  const checkConfig: Push['checkConfig'] = async ({ url }) => {
    const refusal = await policy.checkAtRegistration(url);
    if (refusal !== null) throw webhookRefused(refusal);
  };
  if (!options.agentCard.capabilities?.pushNotifications)
    return { configs: null, delivery: null, checkConfig };
  const resolved = resolveDeliveryLimits(limits);
  const client =
    given ??
    createWebhookClient({
      policy,
      clock,
      timeoutMs: resolved.attemptTimeoutMs,
      connectionsPerOrigin: resolved.concurrencyPerOrigin,
      ...(signing === undefined ? {} : { signing }),
    });
  const delivery = createPushDelivery({ database, client, holder, clock, logger, limits });
  const onSaved = ({ taskId }: { readonly taskId: string }): void => delivery.registered(taskId);
  const configs = createPushConfigStore({ database, ownerResolver, policy, logger, onSaved });
  return { configs, delivery, checkConfig };
}
