/** One rule of a plan. */
export interface FailpointRule {
  readonly text: string;
  readonly action: string;
  take(point: string, taskIds: readonly string[]): boolean;
}

/** The statements of each part of the database that a failpoint stands around. */
export const parts: Readonly<Record<'journal' | 'leases' | 'log' | 'pushConfigs', readonly string[]>>;

/** Reads a plan. @throws Error that names the rule and what is wrong with it. */
export function parsePlan(text: string): readonly FailpointRule[];

/** Numbers from 0 to 1 that are the same for the same seed. */
export function createRandom(seed: number): () => number;
