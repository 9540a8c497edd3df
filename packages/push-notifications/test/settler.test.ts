import { expect, test } from '@jest/globals';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import type { PushSettlement } from '@a2a-cluster/db';
import { Settler } from '../src/delivery/settler.js';

const KEY = { taskId: 't', configId: 'c', claim: 1 };

test('an acceptance whose mark failed is still told by the settlement that came meanwhile', async () => {
  const stored: (readonly PushSettlement[])[] = [];
  let fail: (error: Error) => void = () => {};
  const first = new Promise<never>((_, reject) => (fail = reject));
  const settler = new Settler({
    queue: {
      settle: (settlements) => {
        stored.push(settlements);
        return stored.length === 1 ? first : Promise.resolve(settlements);
      },
    },
    clock: createSystemClock(),
    logger: createSilentLogger(),
    patienceMs: 10_000,
  });
  const keep = { kind: 'keep', ttlMs: 1_000 } as const;
  const retry = { kind: 'retry', delayMs: 1, error: 'no' } as const;
  const marks = [
    settler.settle({ ...KEY, make: () => ({ position: 1, delivered: true, next: keep }) }, true),
    settler.settle({ ...KEY, make: () => ({ position: 1, delivered: false, next: retry }) }, true),
  ];
  fail(new Error('the database is away'));
  expect((await Promise.all(marks)).every(({ held }) => held)).toBe(true);
  // Without it the next event would count the failures of the one before it as its own.
  expect(stored[1]).toEqual([
    expect.objectContaining({ delivered: true, next: expect.objectContaining({ kind: 'retry' }) }),
  ]);
});
