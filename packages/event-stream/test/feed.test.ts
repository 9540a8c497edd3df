import { describe, expect, test } from '@jest/globals';
import type { LogHead } from '@a2a-cluster/db';
import { Feed, type FeedTail } from '../src/feed.js';
import type { Host } from '../src/host.js';

const LEASE = { holder: 'r', epoch: 1, cancelAgeMs: null };
const HEAD: LogHead = { taskId: 't', version: 3, state: 'TASK_STATE_WORKING', lease: LEASE };

describe('a head wakes the tails', () => {
  test('when it is local news: another version, state or lease, or a mark', () => {
    for (const news of [
      { ...HEAD, version: 4 },
      { ...HEAD, state: 'TASK_STATE_INPUT_REQUIRED' },
      { ...HEAD, lease: null },
      { ...HEAD, lease: { ...LEASE, cancelAgeMs: 0 } },
    ]) {
      const { feed, woken } = watched();
      feed.noteHead(news);
      expect(woken()).toBe(1);
    }
  });

  test('not when a tail that joins tells what is known, or n of them would cost n * n', () => {
    const { feed, woken } = watched();
    feed.noteHead({ ...HEAD });
    expect(woken()).toBe(0);
  });

  test('whatever it says, when it was read', () => {
    const { feed, woken } = watched();
    feed.noteHead({ ...HEAD }, 2);
    expect(woken()).toBe(1);
  });
});

describe('the furthest tail', () => {
  test('is known through all that joins, moves and leaves', () => {
    const { feed } = watched();
    const far = { ...idleTail(), cursor: 5 };
    expect(feed.fastest).toBe(3);
    feed.add(far);
    expect(feed.fastest).toBe(5);
    far.cursor = 7;
    feed.moved(7);
    feed.moved(4);
    expect(feed.fastest).toBe(7);
    feed.remove(far);
    expect(feed.fastest).toBe(3);
  });

  test('is none where there is no tail', () => {
    const { feed, tail } = watched();
    expect(feed.fastest).toBe(3);
    feed.remove(tail);
    expect(feed.fastest).toBe(-1);
  });
});

/** A feed that knows {@link HEAD}, with one tail that is up to date. */
function watched(): { readonly feed: Feed; readonly tail: FeedTail; woken(): number } {
  const settings = { maxBufferedBytes: 1_000, maxBufferedEvents: 10 };
  const feed = new Feed('t', { settings, readNumber: () => 1 } as unknown as Host);
  let wakes = 0;
  const tail: FeedTail = { ...idleTail(), wake: () => void (wakes += 1) };
  feed.noteHead(HEAD);
  feed.add(tail);
  return { feed, tail, woken: () => wakes };
}

function idleTail(): FeedTail {
  return { cursor: 3, wake: () => {}, fail: () => {}, waitingSinceMs: () => 0, close: () => {} };
}
