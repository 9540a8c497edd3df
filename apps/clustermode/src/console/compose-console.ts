import type { Cluster } from '@a2a-cluster/cluster';
import { createSystemClock, type Logger } from '@a2a-cluster/core';
import type { Config } from '../config.js';
import { consoleAccessOf } from './access.js';
import { createConsole, type OperatorConsole } from './console.js';
import type { OverviewSetting } from './overview.js';

/** The library's own defaults, which hold where nothing is set. */
const DEFAULT_TTL_MS = 15_000;
const DEFAULT_HEARTBEAT_MS = 5_000;

/** The console of a replica, by its configuration. */
export function composeConsole(parts: {
  readonly cluster: Cluster;
  readonly config: Config;
  readonly log: Logger;
}): OperatorConsole {
  const { cluster, config, log } = parts;
  return createConsole({
    source: cluster,
    access: consoleAccessOf(config.operator, config.host),
    setting: {
      provider: providerOf(config.databaseUrl),
      leaseTtlMs: config.leaseTtlMs ?? DEFAULT_TTL_MS,
      heartbeatMs: config.leaseHeartbeatMs ?? DEFAULT_HEARTBEAT_MS,
    },
    clock: createSystemClock(),
    logger: log,
  });
}

function providerOf(databaseUrl: string): OverviewSetting['provider'] {
  if (databaseUrl.startsWith('file:')) return 'sqlite';
  return databaseUrl.startsWith('postgres') ? 'postgresql' : 'mysql';
}
