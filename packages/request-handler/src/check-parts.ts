import { ClusterError } from '@a2a-cluster/core';

/**
 * Half a cluster is refused where it is put together, not at its first request (protocol 10).
 * @throws ClusterError `CONFIG_INVALID` naming every part that is not there.
 */
export function checkParts<T extends object>(
  whole: string,
  parts: T,
  needed: readonly (keyof T & string)[],
): void {
  const given: Partial<T> = parts ?? {};
  const missing = needed.filter((name) => given[name] === undefined || given[name] === null);
  if (missing.length === 0) return;
  throw new ClusterError('CONFIG_INVALID', `${whole} lacks ${missing.join(', ')}`, { details: { missing } });
}
