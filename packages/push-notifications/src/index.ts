export {
  createPushConfigStore,
  type DeliveryContext,
  type PushConfigStore,
  type PushConfigStoreOptions,
  type StoredPushConfig,
} from './push-config-store.js';
export type { QueueLimits } from './delivery-queue.js';
export * from './push-delivery.js';
export * from './webhook/address-policy.js';
export * from './webhook/backoff.js';
export * from './webhook/client.js';
export type { WebhookOutcome } from './webhook/outcome.js';
export * from './webhook/request-of.js';
export {
  SIGNATURE_HEADER,
  signatureHeader,
  verifySignature,
  type Signable,
  type SignatureCheck,
  type SigningKey,
} from './webhook/signature.js';
export { MAX_WEBHOOK_URL_BYTES } from './webhook/webhook-url.js';
