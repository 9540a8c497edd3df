import type { TestProvider } from '@a2a-cluster/testing';
import type { World } from './world/world.js';

/** A way to break a cluster, and what must be true all the same. */
export interface Scenario {
  /** `R1`, `R2b`, ... */
  readonly id: string;
  /** What is broken, in a few words. */
  readonly title: string;
  /** Where it makes sense. */
  readonly databases: readonly TestProvider[];
  /** Part of the quick set. */
  readonly quick?: boolean;
  /** Runs only when it is named, because it takes long. */
  readonly onlyByName?: boolean;
  /** Debian packages it cannot do without: it is skipped, with a line that says so, where they are missing. */
  missing?(database: TestProvider): string | null;
  /**
   * Starts what it needs, breaks it, and lets it settle. What every scenario must keep is judged by the checker
   * afterwards; what only this one expects it says itself by `world.expect`. A rejection is a violation.
   */
  run(world: World): Promise<void>;
}
