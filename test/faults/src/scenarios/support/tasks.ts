import type { World } from '../../world/world.js';

/** How many tasks fit: few in the quick set, and as many as the machine carries without falling behind otherwise. */
export function taskCount(world: World, most = 20): number {
  return world.quick ? Math.min(10, most) : most;
}
