import type { Rewrite } from './mutations.mjs';

/** The built modules with these rewrites applied, by URL. @throws Error where a text does not occur exactly once. */
export function applyRewrites(
  rewrites: readonly Rewrite[],
): ReadonlyMap<
  string,
  { readonly module: string; readonly source: string; readonly names: readonly string[] }
>;
