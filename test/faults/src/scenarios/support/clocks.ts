import { createStepClock, type StepClock } from '../../tools/step-clock.js';
import { tempFolder } from '../../tools/processes.js';
import type { World } from '../../world/world.js';

/** A wall clock for one process, a second one beside the machine's; it goes with the scenario. */
export function clockOf(world: World): StepClock {
  const folder = tempFolder('clock');
  world.atEnd(async () => folder.remove());
  return createStepClock(folder.path);
}

export const HOUR_MS = 3_600_000;
