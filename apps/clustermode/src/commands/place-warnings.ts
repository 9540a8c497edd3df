import { hostname } from 'node:os';
import type { Cluster } from '@a2a-cluster/cluster';
import { errorText, type Logger } from '@a2a-cluster/core';
import type { Config } from '../config.js';
import type { StartWarning } from './door-warnings.js';

/** What Kubernetes gives a pod unless told otherwise. */
const KUBERNETES_GRACE_MS = 30_000;
/** What a close may take after the drain (protocol 10). */
const CLOSE_MS = 5_000;
/** The library's own, where nothing is set. */
const DEFAULT_DRAIN_MS = 20_000;

/**
 * What the place a replica runs in may not give it. In Kubernetes a pod is killed after its grace period, which it
 * cannot read: so this is said where the default would be too short.
 * @param environment of this process.
 */
export function placeWarnings(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): StartWarning[] {
  const drainTimeoutMs = config.drainTimeoutMs ?? DEFAULT_DRAIN_MS;
  const neededMs = drainTimeoutMs + CLOSE_MS;
  if (environment['KUBERNETES_SERVICE_HOST'] === undefined || neededMs < KUBERNETES_GRACE_MS) return [];
  const text = `DRAIN_TIMEOUT_MS and the close take up to ${neededMs} ms, and Kubernetes kills a pod after ${KUBERNETES_GRACE_MS} ms unless told otherwise: set terminationGracePeriodSeconds above ${neededMs / 1_000} and the time of preStop`;
  return [{ facts: { drainTimeoutMs }, text }];
}

/** A replica as the table of replicas has it: what {@link otherHosts} looks at. */
export interface SeenReplica {
  readonly replicaId: string;
  readonly host: string;
  readonly heartbeatMs: number;
  readonly beatAgeMs: number;
}

/** As many missed reports and a replica is taken for dead. */
const MISSED_BEATS = 3;

/**
 * A warning where replicas of other hosts live on one SQLite file, or null: its locks do not hold across machines. On
 * other databases that is what a cluster is for. Pure; containers of one machine have host names of their own, so the
 * text asks and does not accuse.
 */
export function otherHosts(options: {
  readonly provider: string;
  readonly host: string;
  readonly replicas: readonly SeenReplica[];
}): StartWarning | null {
  const { provider, host, replicas } = options;
  if (provider !== 'sqlite') return null;
  const others = replicas.filter(
    (replica) => replica.host !== host && replica.beatAgeMs <= MISSED_BEATS * replica.heartbeatMs,
  );
  if (others.length === 0) return null;
  const hosts = [...new Set(others.map((replica) => replica.host))];
  const text = `replicas on ${hosts.join(', ')} use this SQLite file too: if these are other machines, two replicas may write over each other. Use PostgreSQL, MySQL or MariaDB`;
  return { facts: { host, hosts }, text };
}

/**
 * Says so where this replica is not the only host on its SQLite file. One read of the table of replicas; a failure of it
 * keeps nobody from starting.
 */
export async function warnAboutOtherHosts(options: {
  readonly operator: { readonly replicas: Pick<Cluster['operator']['replicas'], 'list'> };
  readonly databaseUrl: string;
  readonly log: Logger;
}): Promise<void> {
  const { operator, databaseUrl, log } = options;
  if (!databaseUrl.startsWith('file:')) return;
  try {
    const replicas = await operator.replicas.list();
    const warning = otherHosts({ provider: 'sqlite', host: hostname(), replicas });
    if (warning !== null) log.warn(warning.facts, warning.text);
  } catch (error) {
    log.warn({ reason: errorText(error) }, 'the table of replicas cannot be read for the hosts in it');
  }
}
