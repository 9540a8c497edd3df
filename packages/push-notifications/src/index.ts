export {
  createPushConfigStore,
  type PushConfigStore,
  type PushConfigStoreOptions,
} from './push-config-store.js';
export type { DeliveryCounts, DeliveryEnd } from './delivery/counters.js';
export * from './delivery/options.js';
export * from './push-delivery.js';
export type { StoredPushConfig } from './stored-config.js';
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
