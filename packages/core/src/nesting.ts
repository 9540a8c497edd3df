/**
 * Whether objects and lists stand more than so many levels deep in each other; `{}` is one level. Goes no deeper than
 * it has to, so its own stack is bounded by `levels`.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels <= 0) return true;
  for (const inner of Object.values(value)) if (isDeeperThan(inner, levels - 1)) return true;
  return false;
}
