import type { Rewrite } from './mutations.mjs';

/** How the rewritten modules reach the failpoints. */
export const GLOBAL_NAME: string;

/** Where the built workspace is changed so that failpoints are passed. */
export const failpointRewrites: readonly Rewrite[];
