import type {
  ClaimedDeadLetter,
  ClaimedPush,
  DeadLetterListing,
  PushKey,
  PushListing,
  PushStatus,
} from './push-queue.js';

/** The key of a config, as columns. */
export interface KeyRow {
  readonly task_id: string;
  readonly config_id: string;
}

interface ScopedRow extends KeyRow {
  readonly tenant: string;
  readonly owner: string;
}

/** What a claim gives, as columns. */
export interface ClaimedRow extends Omit<ScopedRow, 'task_id'> {
  /** Null, as all the rest: nothing was claimed. */
  readonly task_id: string | null;
  readonly payload: string;
  readonly wire_version: string;
  readonly origin: string;
  readonly claim: number;
  readonly position: number;
  readonly attempts: number;
  readonly failing_for_ms: number;
  readonly body_seq: number | null;
  readonly body: string | null;
  readonly version: number;
  readonly state: string;
}

/** The key. */
export function keyOf({ task_id, config_id }: KeyRow): PushKey {
  return { taskId: task_id, configId: config_id };
}

/** The claim a row stands for, or none. */
export function toClaimed(row: ClaimedRow): ClaimedPush[] {
  const { task_id, config_id, tenant, owner, body_seq, body } = row;
  if (task_id === null) return [];
  return [
    {
      ...keyOf({ task_id, config_id }),
      scope: { tenant, owner },
      payload: row.payload,
      wireVersion: row.wire_version,
      origin: row.origin,
      claim: row.claim,
      position: row.position,
      version: row.version,
      state: row.state,
      attempts: row.attempts,
      failingForMs: row.failing_for_ms,
      body: body_seq === null || body === null ? null : { seq: body_seq, text: body },
    },
  ];
}

/** A claimed dead letter, as columns. */
export interface DeadRow extends ScopedRow {
  readonly seq: number;
  readonly attempts: number;
  readonly error: string;
  readonly body: string;
  readonly content_type: string;
  readonly claim: number;
  readonly payload: string;
  readonly wire_version: string;
  readonly origin: string;
}

/** The claimed dead letter. */
export function toDeadLetter(row: DeadRow): ClaimedDeadLetter {
  const { tenant, owner, seq, attempts, error, body, claim, payload, origin } = row;
  return {
    ...keyOf(row),
    scope: { tenant, owner },
    ...{ seq, attempts, error, body, claim, payload, origin },
    contentType: row.content_type,
    wireVersion: row.wire_version,
  };
}

/** A config for operators, as columns. */
export interface ListRow extends ScopedRow {
  readonly url: string;
  readonly status: PushStatus;
  readonly position: number;
  readonly version: number;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly holder: string | null;
  readonly due_in_ms: number | null;
  readonly failing_for_ms: number | null;
}

/** The listed config. */
export function toListing(row: ListRow): PushListing {
  const { tenant, owner, url, status, position, version, attempts, holder } = row;
  return {
    ...keyOf(row),
    scope: { tenant, owner },
    ...{ url, status, position, version, attempts, holder },
    lastError: row.last_error,
    dueInMs: row.due_in_ms,
    failingForMs: row.failing_for_ms,
  };
}

/** A dead letter for operators, as columns. */
export interface DeadListRow extends ScopedRow {
  readonly url: string;
  readonly seq: number;
  readonly attempts: number;
  readonly error: string;
  readonly age_ms: number;
  readonly queued: boolean | number;
  readonly delivered: boolean | number;
}

/** The listed dead letter. */
export function toDeadListing(row: DeadListRow): DeadLetterListing {
  const { tenant, owner, url, seq, attempts, error, age_ms, queued, delivered } = row;
  return {
    ...keyOf(row),
    scope: { tenant, owner },
    ...{ url, seq, attempts, error },
    ageMs: age_ms,
    status: delivered ? 'delivered' : queued ? 'queued' : 'dead',
  };
}
