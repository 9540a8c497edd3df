import { median, spreadOf, type Spread } from './statistics.js';

/** Things that are measured against each other: each gives one number per round. */
export interface Alternate<Arm extends string> {
  readonly rounds: number;
  /** Rounds before, whose numbers are dropped: caches, plans and the JIT are warm after them. */
  readonly warmUp?: number;
  readonly arms: Readonly<Record<Arm, () => Promise<number>>>;
  /** Hears of every round. */
  readonly onRound?: (round: number, numbers: Readonly<Record<Arm, number>>) => void;
}

/** The numbers of each arm, round by round. */
export type Rounds<Arm extends string> = Readonly<Record<Arm, readonly number[]>>;

/**
 * Runs the arms one after the other, round by round, every second round in the reverse order: what slows the machine
 * for a while slows all of them.
 */
export async function alternate<Arm extends string>(options: Alternate<Arm>): Promise<Rounds<Arm>> {
  const { rounds, warmUp = 1, arms, onRound } = options;
  const names = Object.keys(arms) as Arm[];
  const numbers = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Arm, number[]>;
  for (let round = -warmUp; round < rounds; round += 1) {
    const order = round % 2 === 0 ? names : [...names].reverse();
    const now: Partial<Record<Arm, number>> = {};
    for (const name of order) now[name] = await arms[name]();
    if (round < 0) continue;
    for (const name of names) numbers[name].push(now[name] ?? NaN);
    onRound?.(round, now as Record<Arm, number>);
  }
  return numbers;
}

/** The ratio of two arms, round by round: its median and how far the rounds lie apart. */
export function ratioOf(
  top: readonly number[],
  bottom: readonly number[],
): { readonly value: number; readonly spread: Spread } {
  const ratios = top.map((number, round) => number / (bottom[round] ?? NaN));
  return { value: median(ratios), spread: spreadOf(ratios) };
}
