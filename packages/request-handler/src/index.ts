export * from './cluster-request-handler.js';
export * from './options.js';
export {
  createStreamingMiddleware,
  type ResponseLike,
  type StreamingMiddleware,
  type StreamingOptions,
} from './request-signal.js';
export type { Caller } from './owner-places.js';
export { RunningTurns, type CloseTurns } from './running-turns.js';
export type { TurnParts } from './turn-spec.js';
export { ClusterRequestContext, turnOf, type TurnHandle } from './turn-context.js';
