import { describe, expect, test } from '@jest/globals';
import type { Service } from '@a2a-cluster/core';
import { createFakeClock, type FakeClock } from '../fake-clock.js';

/** How the service under test is made. The clock is the test's own; a service of real databases may ignore it. */
export type CreateService = (clock: FakeClock) => Service | Promise<Service>;

/**
 * Checks what every `Service` promises: `start` and `close` any number of times, in any order and at once, and
 * nothing running nor any timer set after `close` has resolved. Declares a `describe` block of its own.
 */
export function describeServiceStress(name: string, create: CreateService): void {
  const closed = async (run: (service: Service, clock: FakeClock) => Promise<unknown>): Promise<void> => {
    const clock = createFakeClock();
    const service = await create(clock);
    await run(service, clock);
    await service.close();
    expect(clock.pendingTimers()).toBe(0);
    await service.start();
    await clock.advance(60_000);
    expect(clock.pendingTimers()).toBe(0);
  };

  describe(`${name} as a service`, () => {
    test('stops what it started', () =>
      closed(async (service, clock) => {
        await service.start();
        await clock.advance(30_000);
      }));

    test('may be closed before it was started, and does not start after that', () =>
      closed((service) => service.close()));

    test('may be started and closed twice', () =>
      closed(async (service, clock) => {
        await Promise.all([service.start(), service.start()]);
        await clock.advance(10);
        await Promise.all([service.close(), service.close()]);
      }));

    test('may be closed while it starts', () =>
      closed((service) => Promise.all([service.start(), service.close(), service.start()])));

    test.each([1, 7, 250, 5_000, 15_000])('leaves no timer when closed %d ms after its start', (ms) =>
      closed(async (service, clock) => {
        const started = service.start();
        await clock.advance(ms);
        await service.close();
        await started;
      }),
    );
  });
}
