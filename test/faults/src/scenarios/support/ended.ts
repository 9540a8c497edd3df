import type { StreamEnd } from '../../history/history.js';
import { limit } from '../../world/now.js';
import type { World } from '../../world/world.js';

/** Beside what a turn itself takes. */
const MORE_MS = 20_000;

/** Something that ends as streams do. */
interface Ending {
  readonly ended: Promise<StreamEnd>;
}

/** Resolves with the ends of all; those that are open for much longer than the turn lasts are a violation, and left out. */
export async function allEnded(
  world: World,
  { streams, turnMs }: { readonly streams: readonly Ending[]; readonly turnMs: number },
): Promise<StreamEnd[]> {
  const tooLate = limit(turnMs + MORE_MS);
  const ends = await Promise.all(streams.map(({ ended }) => Promise.race([ended, tooLate])));
  const seen = ends.filter((end) => end !== null);
  const open = ends.length - seen.length;
  world.expect(
    open === 0,
    `${open} of ${ends.length} streams are open ${MORE_MS} ms after their turn should have ended`,
  );
  return seen;
}
