import { storableText, urlOf } from '../statements/push-queue-rules.js';
import type {
  ClaimedDeadLetter,
  DeadLetterListing,
  PushKey,
  PushQueueStatements,
} from '../statements/push-queue.js';
import { clearFailures, heldBy, moveTo } from './push-rows.js';
import type { DeadLetterRecord, MemoryTables, PushRecord } from './tables.js';

type DeadLetterStatements = Pick<
  PushQueueStatements,
  'bury' | 'claimDeadLetters' | 'settleDeadLetter' | 'listDeadLetters'
>;

/** The dead letters over {@link MemoryTables}. */
export function createMemoryDeadLetters(tables: MemoryTables): DeadLetterStatements {
  return {
    bury: async (letter) => bury(tables, letter),
    claimDeadLetters: async (claim) => claimQueued(tables, claim),
    settleDeadLetter: async ({ claim, error, ...key }) => {
      const record = tables.deadLetters.find((one) => isAt(one, key));
      if (record?.holder == null || record.claim !== claim) return false;
      record.holder = null;
      record.dueAtMs = null;
      if (error === null) record.deliveredAtMs = tables.nowMs();
      else Object.assign(record, { error: storableText(error), attempts: record.attempts + 1 });
      return true;
    },
    listDeadLetters: async ({ taskId, limit }) =>
      tables.deadLetters
        .filter(({ letter }) => taskId === undefined || letter.taskId === taskId)
        .reverse()
        .slice(0, limit)
        .map((record) => toListing(tables, record)),
  };
}

function isAt({ letter }: DeadLetterRecord, key: PushKey & { readonly seq: number }): boolean {
  return letter.taskId === key.taskId && letter.configId === key.configId && letter.seq === key.seq;
}

function configOf(tables: MemoryTables, { letter }: DeadLetterRecord): PushRecord | undefined {
  return tables.pushConfigs.get(letter.taskId)?.get(letter.configId);
}

function bury(tables: MemoryTables, burial: Parameters<PushQueueStatements['bury']>[0]): boolean {
  const { claim: _claim, ttlMs, ...letter } = burial;
  const record = heldBy(tables, burial);
  if (!record) return false;
  const nowMs = tables.nowMs();
  moveTo(tables, record, letter.seq);
  clearFailures(record);
  record.dueAtMs = nowMs + ttlMs;
  const { scope } = record.config;
  const { attempts } = letter;
  const error = storableText(letter.error);
  const fresh = { dueAtMs: null, holder: null, claim: 0, deliveredAtMs: null, diedAtMs: nowMs };
  tables.deadLetters = [
    ...tables.deadLetters.filter((one) => !isAt(one, letter)),
    { letter, scope, attempts, error, ...fresh },
  ];
  return true;
}

function claimQueued(
  tables: MemoryTables,
  claim: Parameters<PushQueueStatements['claimDeadLetters']>[0],
): ClaimedDeadLetter[] {
  const nowMs = tables.nowMs();
  const due = tables.deadLetters
    .filter(({ dueAtMs }) => dueAtMs !== null && dueAtMs <= nowMs)
    .sort((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0));
  return due
    .flatMap((record) => {
      const config = configOf(tables, record)?.config;
      return config ? [{ record, config }] : [];
    })
    .slice(0, claim.limit)
    .map(({ record, config }) => {
      record.holder = claim.holder;
      record.claim += 1;
      record.dueAtMs = nowMs + claim.ttlMs;
      const { letter, scope, attempts, error } = record;
      const { payload, wireVersion, origin } = config;
      return { ...letter, attempts, error, scope, payload, wireVersion, origin, claim: record.claim };
    });
}

function toListing(tables: MemoryTables, record: DeadLetterRecord): DeadLetterListing {
  const { letter, scope, attempts, error, dueAtMs, deliveredAtMs } = record;
  const config = configOf(tables, record)?.config;
  return {
    taskId: letter.taskId,
    configId: letter.configId,
    seq: letter.seq,
    ...{ scope, attempts, error },
    url: config ? urlOf(config.payload) : '',
    ageMs: tables.nowMs() - record.diedAtMs,
    status: deliveredAtMs !== null ? 'delivered' : dueAtMs !== null ? 'queued' : 'dead',
  };
}
