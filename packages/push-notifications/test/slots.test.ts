import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Slots } from '../src/delivery/slots.js';

const take = (slots: Slots, origin: string): number => {
  let taken = 0;
  while (taken < 1_000 && slots.tryTake(origin)) taken += 1;
  return taken;
};

describe('slots', () => {
  test('an origin nothing is known of gets four, one that answers gets more and more', () => {
    const slots = new Slots({ total: 64, perOrigin: 16 });
    expect(take(slots, 'a')).toBe(4);
    for (let index = 0; index < 4; index += 1) slots.give('a', false);
    expect(take(slots, 'a')).toBe(8);
    for (let index = 0; index < 50; index += 1) {
      slots.give('a', false);
      slots.tryTake('a');
    }
    expect(slots.limitOf('a')).toBe(16);
  });

  test('one that fails is down to a single slot soon, and up again when it answers', () => {
    const slots = new Slots({ total: 64, perOrigin: 16 });
    for (let index = 0; index < 2; index += 1) {
      slots.tryTake('a');
      slots.give('a', true);
    }
    expect(slots.isSuspect('a')).toBe(true);
    expect(take(slots, 'a')).toBe(1);
    slots.give('a', false);
    expect(take(slots, 'a')).toBe(2);
  });

  test('all that fail together leave three quarters to the others', () => {
    const slots = new Slots({ total: 16, perOrigin: 16 });
    const failing = Array.from({ length: 20 }, (_, index) => `down-${index}`);
    for (const origin of failing)
      for (let index = 0; index < 2; index += 1) {
        slots.tryTake(origin);
        slots.give(origin, true);
      }
    expect(failing.filter((origin) => slots.tryTake(origin))).toHaveLength(4);
    for (let index = 0; index < 12; index += 1) {
      slots.tryTake('up');
      slots.give('up', false);
    }
    expect(take(slots, 'up')).toBe(12);
  });

  test('whatever happens, no bound is broken and nothing is lost', () => {
    const step = fc.record({
      origin: fc.constantFrom('a', 'b', 'c'),
      failed: fc.option(fc.boolean()),
      give: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 8 }), (steps, total) => {
        const slots = new Slots({ total, perOrigin: 3 });
        const held: string[] = [];
        for (const { origin, failed, give } of steps) {
          const at = held.indexOf(origin);
          if (give && at !== -1) {
            held.splice(at, 1);
            slots.give(origin, failed);
          } else if (slots.tryTake(origin)) held.push(origin);
          expect(slots.inFlight).toBe(held.length);
          expect(held.length).toBeLessThanOrEqual(total);
          expect(held.filter((each) => each === origin).length).toBeLessThanOrEqual(Math.min(3, total));
        }
        for (const origin of held) slots.give(origin, null);
        expect(slots.inFlight).toBe(0);
      }),
    );
  });
});
