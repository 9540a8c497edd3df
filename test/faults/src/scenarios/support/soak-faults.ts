import { limit, pause } from '../../world/now.js';
import type { World } from '../../world/world.js';
import { endOneConnection } from './backends.js';
import type { Slot } from './soak-slot.js';
import type { Armed } from './victims.js';

/** Where a fault strikes. */
export interface Strike {
  readonly world: World;
  readonly slot: Slot;
  readonly slots: readonly Slot[];
}

/** One fault of a soak; resolves when it is over. */
export interface SoakFault {
  readonly name: string;
  /** Whether it makes sense there. */
  fits(strike: Strike): boolean;
  strike(strike: Strike): Promise<void>;
}

/** Between two connections that are ended. */
const BACKEND_EVERY_MS = 100;
const DRAINED_WITHIN_MS = 20_000;

const onServer = ({ slot }: Strike): boolean => slot.proxy !== null;

/** What a soak draws from. */
export const SOAK_FAULTS: readonly SoakFault[] = [
  {
    name: 'kill',
    fits: ({ slot }) => slot.mayEnd,
    async strike({ world, slot }) {
      await slot.down(({ replica }) => replica.kill());
      await pause(world.random.int(0, world.settings.ttlMs));
      await slot.boot();
    },
  },
  {
    name: 'drain',
    fits: ({ slot }) => slot.mayEnd,
    async strike({ world, slot }) {
      await slot.down(async ({ replica }) => {
        replica.terminate();
        const how = await Promise.race([replica.exited, limit(DRAINED_WITHIN_MS)]);
        world.expect(
          how !== null,
          `${replica.name} was told to end and did not within ${DRAINED_WITHIN_MS} ms`,
        );
        if (how === null) await replica.kill();
      });
      await slot.boot();
    },
  },
  {
    name: 'stop',
    // A process that is stopped inside a write stops every writer of a file.
    fits: onServer,
    strike: (strike) =>
      each(strike, async ({ replica }, world) => {
        replica.stop();
        await pause(world.random.int(200, 2 * world.settings.ttlMs));
        replica.cont();
      }),
  },
  {
    name: 'cut off',
    fits: onServer,
    strike: (strike) =>
      each(strike, async ({ replica }, world) => {
        const { proxy } = strike.slot;
        const fault = replica.fault('cut_off', 'every byte is swallowed');
        proxy?.blackhole('both');
        await pause(world.random.int(200, 1.5 * world.settings.ttlMs));
        proxy?.heal();
        // What lost bytes hangs on, dead.
        proxy?.reset();
        fault.end();
      }),
  },
  {
    name: 'connections reset',
    fits: onServer,
    strike: (strike) =>
      each(strike, async ({ replica }) => {
        const fault = replica.fault('connections', 'all of them are reset');
        strike.slot.proxy?.reset();
        await pause(BACKEND_EVERY_MS);
        fault.end();
      }),
  },
  {
    name: 'slow database',
    fits: onServer,
    strike: (strike) =>
      each(strike, async ({ replica }, world) => {
        const fault = replica.fault('cut_off', 'every byte is late');
        strike.slot.proxy?.delay(world.random.int(20, 300));
        await pause(world.random.int(500, 3_000));
        strike.slot.proxy?.heal();
        fault.end();
      }),
  },
  {
    name: 'backends ended',
    fits: onServer,
    async strike({ world }) {
      const fault = world.fault('connections', 'backends are ended');
      const count = world.random.int(5, 20);
      for (let ended = 0; ended < count; ended += 1) {
        await endOneConnection(world);
        await pause(BACKEND_EVERY_MS);
      }
      fault.end();
    },
  },
  failing('answers lost', 'journal.*@after=lose%0.1;leases.*@after=lose%0.1'),
  failing('statements lost', 'journal.*@before=lose%0.1;leases.*@before=lose%0.1'),
  failing('deadlocks', 'driver.deadlock=deadlock%0.05'),
  {
    name: 'hints lost',
    fits: () => true,
    async strike({ world, slots }) {
      const fault = world.fault('hints', 'lost');
      const up = slots.flatMap(({ current }) => current ?? []);
      await Promise.allSettled(up.map(({ points }) => points.set('hints.onHint=drop')));
      await pause(world.random.int(500, 3_000));
      await Promise.allSettled(up.map(({ points }) => points.set('')));
      fault.end();
    },
  },
];

/** Statements of one replica that fail at random for a while. */
function failing(name: string, plan: string): SoakFault {
  return {
    name,
    fits: () => true,
    strike: (strike) =>
      each(strike, async ({ replica, points }, world) => {
        const fault = replica.fault('statements', name);
        await points.set(`seed=${world.random.int(1, 1_000_000)};${plan}`);
        await pause(world.random.int(500, 3_000));
        await points.set('');
        fault.end();
      }),
  };
}

async function each(
  { world, slot }: Strike,
  work: (armed: Armed, world: World) => Promise<void>,
): Promise<void> {
  const { current } = slot;
  if (current !== null) await work(current, world);
}
