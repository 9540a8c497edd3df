import { ClusterError } from '@a2a-cluster/core';
import type { PushConfigQueries, PushConfigRow } from '../statements/task-queries.js';
import type { PortableClient, PushConfigRecord } from './portable-client.js';
import { guarded, isTaken } from './prisma-faults.js';

/** Updates that lost against a delete, and inserts that lost against an insert, in turn: more is a bug. */
const SAVE_ATTEMPTS = 10;

/** Push configs through Prisma, the same on every SQL database. */
export function createPushConfigQueries(client: PortableClient): PushConfigQueries {
  return {
    save: (row) => save(client, row),
    async load({ taskId, scope }) {
      const where = { taskId, tenant: scope.tenant, owner: scope.owner };
      const rows = await guarded({
        name: 'loadPushConfigs',
        writes: false,
        run: () =>
          client.pushConfig.findMany({ where, orderBy: [{ createdAt: 'asc' }, { configId: 'asc' }] }),
      });
      return rows.map(toRow);
    },
    async loadMany(finds) {
      if (finds.length === 0) return [];
      const where = { taskId: { in: [...new Set(finds.map(({ taskId }) => taskId))] } };
      const rows = await guarded({
        name: 'loadPushConfigs',
        writes: false,
        run: () =>
          client.pushConfig.findMany({ where, orderBy: [{ createdAt: 'asc' }, { configId: 'asc' }] }),
      });
      // By hand: a condition per task's scope would be another statement for every batch.
      const byTask = new Map<string, PushConfigRecord[]>();
      for (const row of rows) byTask.set(row.taskId, [...(byTask.get(row.taskId) ?? []), row]);
      return finds.map(({ taskId, scope }) =>
        (byTask.get(taskId) ?? [])
          .filter(({ tenant, owner }) => tenant === scope.tenant && owner === scope.owner)
          .map(toRow),
      );
    },
    async remove({ taskId, scope, configId }) {
      const where = {
        ...{ taskId, tenant: scope.tenant, owner: scope.owner },
        ...(configId !== undefined && { configId }),
      };
      await guarded({
        name: 'removePushConfigs',
        writes: true,
        run: () => client.pushConfig.deleteMany({ where }),
      });
    },
  };
}

/**
 * Update where the scope fits, else insert; each step is one atomic statement. Rejected: `upsert`, whose condition
 * cannot hold the scope (it would overwrite another owner's row) and which is not atomic on MySQL.
 */
async function save(client: PortableClient, row: PushConfigRow): Promise<boolean> {
  const { taskId, configId, scope, payload, wireVersion } = row;
  const key = { taskId, configId };
  const owned = { ...key, tenant: scope.tenant, owner: scope.owner };
  const data = { url: urlOf(payload), payload, wireVersion };
  for (let attempt = 1; attempt <= SAVE_ATTEMPTS; attempt += 1) {
    const updated = await guarded({
      name: 'savePushConfig',
      writes: true,
      run: () => client.pushConfig.updateMany({ where: owned, data }),
    });
    if (updated.count > 0) return true;
    if (await insert(client, { ...owned, ...data })) return true;
    if (await isAnothers(client, row)) return false;
  }
  throw new ClusterError('STORE_FAULT', 'savePushConfig: others kept changing the same config');
}

/** Whether the config is there under another tenant or owner. */
async function isAnothers(
  client: PortableClient,
  { taskId, configId, scope }: PushConfigRow,
): Promise<boolean> {
  const found = await guarded({
    name: 'savePushConfig',
    writes: false,
    run: () => client.pushConfig.findFirst({ where: { taskId, configId }, orderBy: [] }),
  });
  return found !== null && (found.tenant !== scope.tenant || found.owner !== scope.owner);
}

/** False: the key is taken. Keeps the order of first saves even where two fall into one millisecond. */
async function insert(client: PortableClient, data: Omit<PushConfigRecord, 'createdAt'>): Promise<boolean> {
  const { taskId, configId } = data;
  const latest = await guarded({
    name: 'savePushConfig',
    writes: false,
    run: () => client.pushConfig.findFirst({ where: { taskId }, orderBy: [{ createdAt: 'desc' }] }),
  });
  try {
    const run = (): PromiseLike<PushConfigRecord> => client.pushConfig.create({ data });
    const created = await guarded({ name: 'savePushConfig', writes: true, run });
    if (latest === null || created.createdAt > latest.createdAt) return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  const createdAt = new Date(latest.createdAt.getTime() + 1);
  await guarded({
    name: 'savePushConfig',
    writes: true,
    run: () => client.pushConfig.updateMany({ where: { taskId, configId }, data: { createdAt } }),
  });
  return true;
}

/** A column of its own for operators; what is sent comes from the payload. */
function urlOf(payload: string): string {
  const config: unknown = JSON.parse(payload);
  const url = typeof config === 'object' && config !== null && 'url' in config ? config.url : undefined;
  return typeof url === 'string' ? url : '';
}

function toRow(record: PushConfigRecord): PushConfigRow {
  const { taskId, configId, tenant, owner, payload, wireVersion } = record;
  return { taskId, configId, scope: { tenant, owner }, payload, wireVersion };
}
