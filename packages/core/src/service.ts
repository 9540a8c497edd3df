/**
 * Something that runs in the background.
 *
 * `start` and `close` may be called any number of times, in any order. After `close` has resolved nothing of the
 * service runs any more, no timer is set, and `start` does nothing.
 */
export interface Service {
  start(): Promise<void>;
  close(): Promise<void>;
}
