import type { Service } from '@a2a-cluster/core';
import type { ClusterRequestHandler, StreamingMiddleware } from '@a2a-cluster/request-handler';
import type { ClusterOperator } from './operator.js';
import type { ClusterStatus } from './status.js';

/** One replica of a cluster. */
export interface Cluster extends Service {
  /** Takes the place of `DefaultRequestHandler` in the SDK's transports. */
  readonly requestHandler: ClusterRequestHandler;
  /**
   * Express middleware to mount in front of the transports: frees a stream when its client goes away, holds it when
   * the client is slow, and cuts it off when the client takes nothing for `slowReaderTimeoutMs`.
   */
  streaming(): StreamingMiddleware;
  readonly operator: ClusterOperator;
  /** A snapshot; no I/O. */
  status(): ClusterStatus;
  /**
   * Refuses new turns, waits for the running ones, ends the rest, and stops (protocol 10). Bounded by the drain
   * time and a TTL, also when the database is away. Idempotent; a second call waits for the first.
   */
  close(options?: { readonly drainTimeoutMs?: number }): Promise<void>;
}
