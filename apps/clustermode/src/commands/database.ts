import { createSilentLogger, type LeaseListing } from '@a2a-cluster/core';
import type { ClusterOperator } from '@a2a-cluster/cluster';
import { createDemoAgent } from '../agent/demo-agent.js';
import { composeCluster } from '../compose.js';
import type { Config } from '../config.js';
import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import { printRows, type Row } from '../table.js';

/** What the commands are told that ask the database. */
export interface DatabaseCommandOptions {
  readonly config: Config;
  readonly json: boolean;
  /** Most rows. */
  readonly limit: number;
}

/** Prints the leases, the next to expire first; ages and rests are by the database's clock. */
export function leases(options: DatabaseCommandOptions): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const found = await operator.leases({ limit: options.limit });
    printRows({ rows: found.map(leaseRow), json: options.json, none: 'No turn is running.' });
    return EXIT_OK;
  });
}

/** Prints tasks of every owner, the youngest first; at most 200. */
export function tasks(options: DatabaseCommandOptions): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const { tasks: found } = await operator.tasks.find({ limit: options.limit });
    const rows = found.map(({ taskId, tenant, owner, contextId, state, version, createdAtMs }) => ({
      ...{ taskId, state, tenant, owner },
      ...{ contextId, version, createdAt: new Date(createdAtMs).toISOString() },
    }));
    printRows({ rows, json: options.json, none: 'There are no tasks.' });
    return EXIT_OK;
  });
}

/**
 * Prints the replicas that hold leases. The database knows of no others: a replica without a turn leaves no trace
 * in it, and a holder may be dead until its leases expire.
 */
export function replicas(options: DatabaseCommandOptions): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const found = await operator.leases({ limit: options.limit });
    const none = 'No replica holds a lease. One that runs no turn is not to be seen here.';
    printRows({ rows: byHolder(found), json: options.json, none });
    return EXIT_OK;
  });
}

/** Expires a lease now and gives the sweeper's verdict on it. */
export function releaseLease(
  options: Pick<DatabaseCommandOptions, 'config' | 'json'> & { readonly taskId: string },
): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const outcome = await operator.releaseLease(options.taskId);
    const text = options.json ? JSON.stringify({ taskId: options.taskId, outcome }) : OUTCOMES[outcome];
    process.stdout.write(`${text}\n`);
    return outcome === 'failed' || outcome === 'dropped' ? EXIT_OK : EXIT_FAILED;
  });
}

const OUTCOMES = {
  failed: 'Released: the turn was given up and its task is FAILED.',
  dropped: 'Released: the task had ended or waits for its client, and is as it was.',
  not_found: 'There is no lease for this task.',
  busy: 'Somebody is writing this lease right now: try again.',
};

/** Opens the database as a replica would, starts nothing, and closes it again. */
export async function withOperator(
  config: Config,
  work: (operator: ClusterOperator) => Promise<number>,
): Promise<number> {
  const agent = { executor: createDemoAgent() };
  const cluster = await composeCluster({ config, agent, logger: createSilentLogger() });
  try {
    return await work(cluster.operator);
  } finally {
    await cluster.close();
  }
}

function leaseRow(lease: LeaseListing): Row {
  const { taskId, holder, epoch, pending, tenant, owner } = lease;
  const [remainingMs, ageMs] = [Math.round(lease.remainingMs), Math.round(lease.ageMs)];
  return {
    taskId,
    holder,
    epoch,
    pending,
    remainingMs,
    ageMs,
    cancelAgeMs: lease.cancelAgeMs,
    tenant,
    owner,
  };
}

function byHolder(found: readonly LeaseListing[]): Row[] {
  const holders = new Map<string, LeaseListing[]>();
  for (const lease of found) holders.set(lease.holder, [...(holders.get(lease.holder) ?? []), lease]);
  return [...holders].map(([holder, held]) => ({
    holder,
    turns: held.length,
    expired: held.filter((lease) => lease.remainingMs <= 0).length,
    longestTurnMs: Math.round(Math.max(...held.map((lease) => lease.ageMs))),
    nextExpiryMs: Math.round(Math.min(...held.map((lease) => lease.remainingMs))),
  }));
}
