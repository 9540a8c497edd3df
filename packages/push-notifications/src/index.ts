export {
  createPushConfigStore,
  type DeliveryContext,
  type PushConfigStore,
  type PushConfigStoreOptions,
  type StoredPushConfig,
} from './push-config-store.js';
export type { QueueLimits } from './delivery-queue.js';
export * from './push-delivery.js';
export * from './webhook-address-policy.js';
