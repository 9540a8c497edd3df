import { replicaClosed } from './refusals.js';

/**
 * The answer, or the refusal of a closed replica, whichever is first: no call outlives the replica it was made to. What
 * loses goes on unheard.
 * @throws A2AError with reason `REPLICA_DRAINING` once `closed` aborts.
 */
export function untilClosed<T>(closed: AbortSignal, answer: () => Promise<T>): Promise<T> {
  if (closed.aborted) return Promise.reject(replicaClosed());
  return new Promise((resolve, reject) => {
    const onClosed = (): void => reject(replicaClosed());
    closed.addEventListener('abort', onClosed, { once: true });
    void (async () => answer())()
      .then(resolve, reject)
      .finally(() => closed.removeEventListener('abort', onClosed));
  });
}
