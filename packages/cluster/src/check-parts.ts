import { ClusterError } from '@a2a-cluster/core';
import type { ClusterOptions } from './options.js';

const DATABASE_PARTS = [
  'journal',
  'leases',
  'log',
  'tasks',
  'pushConfigs',
  'pushQueue',
  'replicas',
  'operators',
  'retention',
  'hints',
  'check',
  'ping',
  'close',
];

/**
 * Half a cluster is refused at construction (protocol 10), for callers without types as well.
 * @throws ClusterError `CONFIG_INVALID` naming every part that is missing.
 */
export function checkClusterParts(options: ClusterOptions): void {
  const given = (options ?? {}) as Partial<ClusterOptions>;
  const missing = [
    ...(given.databaseUrl || given.database ? [] : ['databaseUrl (or database)']),
    ...lacking('database', given.database, DATABASE_PARTS),
    ...(given.agentCard ? [] : ['agentCard']),
    ...(given.executor ? [] : ['executor']),
    ...lacking('executor', given.executor, ['execute', 'cancelTask']),
  ];
  if (missing.length === 0) return;
  throw new ClusterError('CONFIG_INVALID', `createCluster lacks ${missing.join(', ')}`, {
    details: { missing },
  });
}

function lacking(name: string, part: object | undefined, needed: readonly string[]): string[] {
  if (!part) return [];
  const parts = part as Readonly<Record<string, unknown>>;
  return needed.filter((key) => !parts[key]).map((key) => `${name}.${key}`);
}
