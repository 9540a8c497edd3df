import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '@a2a-cluster/core';
import { urlOf } from '../statements/push-queue-rules.js';
import {
  MOST_CONFIGS_PER_TASK,
  type PushConfigRow,
  type PushConfigSaved,
} from '../statements/task-queries.js';
import type { PortableClient, PrismaProvider, PushConfigRecord } from './portable-client.js';
import { guarded, isTaken } from './prisma-faults.js';

/** Updates that lost against a delete, and inserts that lost against an insert, in turn: more is a bug. */
const SAVE_ATTEMPTS = 10;

/** How often, and how long apart, a save waits for later ones that are too many to be gone. */
const RECOUNTS = 20;
const RECOUNT_MS = 25;

/** What {@link savePushConfig} needs. */
export interface PushConfigSave {
  readonly client: PortableClient;
  readonly provider: PrismaProvider;
  readonly row: PushConfigRow;
}

/**
 * Update where the scope fits, else insert; each step is one atomic statement. Rejected: `upsert`, whose condition
 * cannot hold the scope (it would overwrite another owner's row) and which is not atomic on MySQL.
 */
export async function savePushConfig(save: PushConfigSave): Promise<PushConfigSaved> {
  for (let attempt = 1; attempt <= SAVE_ATTEMPTS; attempt += 1) {
    if (await replace(save)) return 'saved';
    const made = await insert(save);
    if (made !== 'there') return made;
    if (await isAnothers(save)) return 'taken';
  }
  throw new ClusterError('STORE_FAULT', 'savePushConfig: others kept changing the same config');
}

/** Now, by each database's clock. */
const NOW: Record<PrismaProvider, string> = {
  postgresql: `date_trunc('milliseconds', clock_timestamp())`,
  mysql: 'SYSDATE(3)',
  sqlite: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
};

/**
 * Raw SQL, because what becomes of the deliveries depends on the row. `status` last: MySQL assigns from left to right
 * and sees what it has assigned.
 */
function replaceText(provider: PrismaProvider): string {
  let places = 0;
  const place = (): string => (provider === 'postgresql' ? `$${(places += 1)}` : '?');
  const anew = (column: string, value: string): string =>
    `${column} = CASE WHEN status = 'active' THEN ${column} ELSE ${value} END`;
  const version = '(SELECT t.version FROM tasks t WHERE t.id = push_notification_configs.task_id)';
  return `
UPDATE push_notification_configs
   SET url = ${place()}, payload = ${place()}, wire_version = ${place()}, origin = ${place()},
       ${anew('position', `coalesce(${version}, 0)`)}, ${anew('due_at', NOW[provider])},
       ${anew('changed_at', NOW[provider])}, ${anew('attempts', '0')}, ${anew('failing_since', 'NULL')},
       ${anew('last_error', 'NULL')}, ${anew('body_seq', 'NULL')}, ${anew('body', 'NULL')}, status = 'active'
 WHERE task_id = ${place()} AND config_id = ${place()} AND tenant = ${place()} AND owner = ${place()}`;
}

/** False: there is none of this scope. */
async function replace({ client, provider, row }: PushConfigSave): Promise<boolean> {
  const { taskId, configId, scope, payload, wireVersion, origin } = row;
  const values = [urlOf(payload), payload, wireVersion, origin, taskId, configId, scope.tenant, scope.owner];
  const run = (): PromiseLike<number> => client.$executeRawUnsafe(replaceText(provider), ...values);
  return (await guarded({ name: 'savePushConfig', writes: true, run })) > 0;
}

/** Whether the config is there under another tenant or owner. */
async function isAnothers({ client, row }: PushConfigSave): Promise<boolean> {
  const { taskId, configId, scope } = row;
  const found = await guarded({
    name: 'savePushConfig',
    writes: false,
    run: () => client.pushConfig.findFirst({ where: { taskId, configId }, orderBy: [] }),
  });
  return found !== null && (found.tenant !== scope.tenant || found.owner !== scope.owner);
}

/** In the order of their first save. */
function readAll({ client, row: { taskId } }: PushConfigSave): Promise<PushConfigRecord[]> {
  const orderBy = [{ createdAt: 'asc' as const }, { configId: 'asc' as const }];
  const run = (): PromiseLike<PushConfigRecord[]> =>
    client.pushConfig.findMany({ where: { taskId }, orderBy });
  return guarded({ name: 'savePushConfig', writes: false, run });
}

/** `there`: the id is taken, by whomever. */
async function insert(save: PushConfigSave): Promise<'saved' | 'full' | 'there'> {
  const { client, row } = save;
  const { taskId, configId, scope, payload, wireVersion, origin } = row;
  const before = await readAll(save);
  if (before.some((other) => other.configId === configId)) return 'there';
  if (before.length >= MOST_CONFIGS_PER_TASK) return 'full';
  // Read before the row is there: what is committed in between is delivered, too much rather than too little.
  const task = await guarded({
    name: 'savePushConfig',
    writes: false,
    run: () => client.task.findFirst({ where: { id: taskId } }),
  });
  const data = { taskId, configId, ...scope, url: urlOf(payload), payload, wireVersion, origin };
  const run = (): PromiseLike<PushConfigRecord> =>
    client.pushConfig.create({ data: { ...data, position: task?.version ?? 0 } });
  try {
    const created = await guarded({ name: 'savePushConfig', writes: true, run });
    await keepOrder(save, { created, latest: before.at(-1) });
  } catch (error) {
    if (isTaken(error)) return 'there';
    throw error;
  }
  return keepBound(save);
}

/** Keeps the order of first saves even where two fall into one millisecond. */
async function keepOrder(
  { client }: PushConfigSave,
  rows: { readonly created: PushConfigRecord; readonly latest: PushConfigRecord | undefined },
): Promise<void> {
  const { created, latest } = rows;
  if (latest === undefined || created.createdAt > latest.createdAt) return;
  const { taskId, configId } = created;
  const createdAt = new Date(latest.createdAt.getTime() + 1);
  await guarded({
    name: 'savePushConfig',
    writes: true,
    run: () => client.pushConfig.updateMany({ where: { taskId, configId }, data: { createdAt } }),
  });
}

/**
 * Takes the row back where it is one too many. Others may be saving: those that come later in the order take theirs
 * back, which is waited for. Who stays has seen no more than the bound, and the last of them has seen all others.
 */
async function keepBound(save: PushConfigSave): Promise<'saved' | 'full'> {
  const { client, row } = save;
  const { taskId, configId, scope } = row;
  for (let recount = 0; recount < RECOUNTS; recount += 1) {
    if (recount > 0) await sleep(RECOUNT_MS);
    const rows = await readAll(save);
    if (rows.length <= MOST_CONFIGS_PER_TASK) return 'saved';
    if (rows.findIndex((other) => other.configId === configId) >= MOST_CONFIGS_PER_TASK) break;
  }
  const where = { taskId, configId, ...scope };
  const run = (): PromiseLike<{ count: number }> => client.pushConfig.deleteMany({ where });
  await guarded({ name: 'savePushConfig', writes: true, run });
  return 'full';
}
