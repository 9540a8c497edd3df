/** One text of a built module and what stands there instead. */
export interface Rewrite {
  readonly name: string;
  /** Counts from the root of the workspace. */
  readonly module: string;
  readonly find: string;
  readonly replace: string;
}

/** The protocol with one of its rules taken out. */
export interface Mutation {
  readonly name: string;
  readonly description: string;
  /** The databases on which it changes anything. */
  readonly databases: readonly ('postgresql' | 'mysql' | 'sqlite')[];
  /** The scenarios that are expected to turn red. */
  readonly scenarios: readonly string[];
  /** By what they turn red. */
  readonly why: string;
  readonly rewrites: readonly Rewrite[];
}

/** Every mutation. */
export const mutations: readonly Mutation[];

/** The mutation of that name. @throws Error that lists the names. */
export function mutationNamed(name: string): Mutation;
