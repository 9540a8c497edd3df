import { describe, expect, test } from '@jest/globals';
import type { EventRow } from '@a2a-cluster/core';
import fc from 'fast-check';
import { Window } from '../src/window.js';
import { range } from './harness.js';

function row(seq: number, bytes: number): EventRow {
  const rest = { messageId: null, holder: 'r', epoch: 1 };
  return { taskId: 'a', seq, kind: 'statusUpdate', payload: 'x'.repeat(bytes), ...rest };
}

describe('the window of a task', () => {
  test('holds the latest rows and forgets, for a new one, only what somebody has consumed', () => {
    const window = new Window({ maxBytes: 1_000, maxEvents: 3 });
    expect(
      window.append(
        [1, 2, 3].map((seq) => row(seq, 10)),
        0,
      ),
    ).toBe('held');
    expect(window.append([row(4, 10)], 0)).toBe('full');
    expect(window.append([row(4, 10), row(5, 10)], 2)).toBe('held');
    expect(range(1, 6).filter((seq) => window.at(seq))).toEqual([3, 4, 5]);
    expect([window.start, window.end]).toEqual([2, 5]);
  });

  test('passes over rows it knows and stops at a gap', () => {
    const window = new Window({ maxBytes: 1_000, maxEvents: 10 });
    window.reset(4);
    expect(
      window.append(
        [3, 4, 5].map((seq) => row(seq, 1)),
        9,
      ),
    ).toBe('held');
    expect(window.append([row(7, 1)], 9)).toBe('gap');
    expect([window.start, window.end]).toEqual([4, 5]);
  });

  test('holds one row that is over the limit, alone', () => {
    const window = new Window({ maxBytes: 10, maxEvents: 10 });
    expect(window.append([row(1, 50)], 0)).toBe('held');
    expect(window.append([row(2, 1)], 0)).toBe('full');
    expect(window.append([row(2, 1)], 1)).toBe('held');
    expect(window.at(1)).toBeUndefined();
  });

  test('stays within its bounds whatever is offered', () => {
    const offer = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 6 }),
      evictTo: fc.integer({ min: 0, max: 40 }),
      dropTo: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(offer, { maxLength: 12 }), (offers) => {
        const window = new Window({ maxBytes: 100, maxEvents: 4 });
        for (const { sizes, evictTo, dropTo } of offers) {
          window.append(
            sizes.map((bytes, index) => row(window.end + index + 1, bytes)),
            evictTo,
          );
          const held = range(window.start + 1, window.end).map((seq) => window.at(seq));
          expect(held.map((entry) => entry?.row.seq)).toEqual(range(window.start + 1, window.end));
          const bytes = held.reduce((sum, entry) => sum + (entry?.bytes ?? 0), 0);
          expect(held.length <= 4 && (bytes <= 100 || held.length === 1)).toBe(true);
          window.dropTo(dropTo);
        }
      }),
    );
  });
});
