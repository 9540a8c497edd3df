import type { StreamResponse } from '@a2a-js/sdk';
import { sightOf, type Sight } from './replica-client.js';

/** A stream that is read in the background. */
export interface Watcher {
  /** The first event seen so far, or to come, that the test takes; rejects when the stream ends without one. */
  first(test: (sight: Sight) => boolean): Promise<Sight>;
  /** Resolves when the stream has ended, in whatever way. */
  readonly ended: Promise<void>;
  /** How many of the events that came the test takes. */
  countOf(test: (sight: Sight) => boolean): number;
  /** How many events came. */
  readonly count: number;
}

/** Begins to read a stream. */
export function watch(stream: AsyncIterable<StreamResponse>): Watcher {
  const seen: Sight[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  let fault: unknown;
  const wake = (): void => waiting.forEach((look) => look());
  const ended = (async () => {
    try {
      for await (const event of stream) {
        seen.push(sightOf(event));
        wake();
      }
    } catch (error) {
      fault = error;
    }
    over = true;
    wake();
  })();
  return {
    ended,
    countOf: (test) => seen.filter(test).length,
    get count() {
      return seen.length;
    },
    first: (test) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = seen.find(test);
          if (found === undefined && !over) return;
          waiting.delete(look);
          if (found !== undefined) resolve(found);
          else
            reject(
              fault ?? new Error(`the stream ended after ${seen.length} events, without what was waited for`),
            );
        };
        waiting.add(look);
        look();
      }),
  };
}
