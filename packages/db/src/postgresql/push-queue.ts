import {
  keyOf,
  toClaimed,
  toDeadLetter,
  toDeadListing,
  toListing,
  type ClaimedRow,
  type DeadListRow,
  type DeadRow,
  type KeyRow,
  type ListRow,
} from '../statements/push-queue-rows.js';
import { storableText } from '../statements/push-queue-rules.js';
import type { PushCounts, PushKey, PushQueueStatements, PushSettlement } from '../statements/push-queue.js';
import type { Retrying } from './retry.js';
import * as claims from './sql/push-claims.js';
import * as operators from './sql/push-operators.js';
import * as settlements from './sql/push-settlements.js';

/** The statements of push delivery on PostgreSQL (protocol 9), each one round trip. */
export function createPostgresPushQueue(database: Retrying): PushQueueStatements {
  return {
    async claimOf({ taskIds, holder, ttlMs, exceptOrigins = [] }) {
      if (taskIds.length === 0) return { claimed: [], known: [] };
      const rows = await database.run<KnownRow>(claims.claimOf, [
        [...taskIds],
        holder,
        ttlMs,
        [...exceptOrigins],
      ]);
      return { claimed: rows.flatMap(toClaimed), known: [...new Set(rows.map(({ known }) => known))] };
    },
    claimDue: (claim) => claimDue(database, claim),
    settle: (list) => settle(database, list),
    async storeBody({ taskId, configId, claim, seq, body }) {
      return (await database.run(settlements.storeBody, [taskId, configId, claim, seq, body])).length > 0;
    },
    async bury({ taskId, configId, claim, seq, ttlMs, attempts, error, body, contentType }) {
      const what = [attempts, storableText(error), body, contentType];
      const rows = await database.run(settlements.bury, [taskId, configId, claim, seq, ttlMs, ...what]);
      return rows.length > 0;
    },
    async claimDeadLetters({ holder, ttlMs, limit }) {
      const rows = await database.run<DeadRow>(operators.claimDeadLetters, [holder, ttlMs, limit]);
      return rows.map(toDeadLetter);
    },
    async settleDeadLetter({ taskId, configId, seq, claim, error }) {
      const values = [taskId, configId, seq, claim, error === null ? null : storableText(error)];
      return (await database.run(operators.settleDeadLetter, values)).length > 0;
    },
    async retry({ taskId, configId = null }) {
      type Row = { readonly configs: number; readonly dead_letters: number };
      const [row] = await database.run<Row>(operators.retry, [taskId, configId]);
      return { configs: row?.configs ?? 0, deadLetters: row?.dead_letters ?? 0 };
    },
    async list({ taskId, limit }) {
      const rows =
        taskId === undefined
          ? await database.run<ListRow>(operators.list, [limit])
          : await database.run<ListRow>(operators.listOf, [taskId, limit]);
      return rows.map(toListing);
    },
    async listDeadLetters({ taskId, limit }) {
      const rows =
        taskId === undefined
          ? await database.run<DeadListRow>(operators.listDeadLetters, [limit])
          : await database.run<DeadListRow>(operators.listDeadLettersOf, [taskId, limit]);
      return rows.map(toDeadListing);
    },
    counts: () => counts(database),
  };
}

interface KnownRow extends ClaimedRow {
  readonly known: string;
}

interface SeenRow extends ClaimedRow {
  readonly seen_task: string;
  readonly seen_config: string;
  readonly seen_as: string;
}

async function claimDue(
  database: Retrying,
  claim: Parameters<PushQueueStatements['claimDue']>[0],
): ReturnType<PushQueueStatements['claimDue']> {
  const { holder, ttlMs, limit, exceptOrigins, onlyOrigins } = claim;
  const origins = [[...exceptOrigins], onlyOrigins ? [...onlyOrigins] : null];
  const rows = await database.run<SeenRow>(claims.claimDue, [holder, ttlMs, limit, ...origins]);
  const putOff = rows.filter(({ seen_as }) => seen_as === 'put off');
  await wake(
    database,
    putOff.map(({ seen_task, seen_config }) => ({ task_id: seen_task, config_id: seen_config })),
  );
  return { claimed: rows.flatMap(toClaimed), seen: rows.length };
}

async function settle(database: Retrying, list: readonly PushSettlement[]): Promise<readonly PushKey[]> {
  if (list.length === 0) return [];
  const values = [
    list.map(({ taskId }) => taskId),
    list.map(({ configId }) => configId),
    list.map(({ claim }) => claim),
    list.map(({ position }) => position),
    list.map(({ delivered }) => delivered),
    list.map(({ next }) => next.kind),
    list.map(({ next }) => (next.kind === 'keep' ? next.ttlMs : next.kind === 'retry' ? next.delayMs : null)),
    list.map(({ next }) => ('error' in next ? storableText(next.error) : null)),
  ];
  const rows = await database.run<KeyRow & { put_off: boolean }>(settlements.settle, values);
  await wake(
    database,
    rows.filter(({ put_off }) => put_off),
  );
  return rows.map(keyOf);
}

/** What it is called after has been stored already: where it fails, the rows are looked at when they are due. */
async function wake(database: Retrying, rows: readonly KeyRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = [rows.map(({ task_id }) => task_id), rows.map(({ config_id }) => config_id)];
  await database.run(claims.wake, values).catch(() => []);
}

async function counts(database: Retrying): Promise<PushCounts> {
  type Row = Omit<PushCounts, 'deadLetters'> & { readonly dead_letters: number };
  const [row] = await database.run<Row>(operators.counts, []);
  const { waiting = 0, retrying = 0, disabled = 0, dead_letters: deadLetters = 0 } = row ?? {};
  return { waiting, retrying, disabled, deadLetters };
}
