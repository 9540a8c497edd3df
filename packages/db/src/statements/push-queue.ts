import type { Scope, StateName } from '@a2a-cluster/core';

/** Where the deliveries of one config stand. */
export type PushStatus =
  /** Events are delivered, or wait for their next attempt. */
  | 'active'
  /** The receiver said it is gone (410); nothing is sent until an operator or a new registration enables it. */
  | 'disabled'
  /** Its task has ended and everything was delivered or given up. */
  | 'done';

/** Which config of which task. */
export interface PushKey {
  readonly taskId: string;
  readonly configId: string;
}

/** A config whose deliveries are this holder's until its claim expires. */
export interface ClaimedPush extends PushKey {
  readonly scope: Scope;
  /** The config as JSON, and the protocol version it was registered with. */
  readonly payload: string;
  readonly wireVersion: string;
  /** `scheme://host:port` of its webhook: what concurrency is bounded by. */
  readonly origin: string;
  /** Fences every write of this claim; grows with each. */
  readonly claim: number;
  /** The seq of the last event that needs no more attempts. */
  readonly position: number;
  /** The seq of the task's last event, and its state, when it was claimed. Version > position. */
  readonly version: number;
  readonly state: StateName;
  /** Failed attempts of the event that comes next. */
  readonly attempts: number;
  /** Milliseconds since the first of them, by the database's clock; 0 without one. */
  readonly failingForMs: number;
  /** The body of the event at `seq`, where one had to be stored before its first attempt. */
  readonly body: { readonly seq: number; readonly text: string } | null;
}

/** Whose claim, and how long it lasts. */
export interface PushClaimant {
  readonly holder: string;
  readonly ttlMs: number;
}

/** What a claim was used for. Nothing of it is stored when the claim is another's by now. */
export interface PushSettlement extends PushKey {
  readonly claim: number;
  /** The seq of the last event that needs no more attempts; never behind the stored one. */
  readonly position: number;
  /** Whether an event was accepted since the last settlement: clears attempts, failure and body. */
  readonly delivered: boolean;
  readonly next:
    /** The claim goes on for another `ttlMs`. */
    | { readonly kind: 'keep'; readonly ttlMs: number }
    /**
     * The claim ends. Events after `position`: due at once, for everybody. None and the task has ended: `done`.
     * None: looked at again later, see {@link PushQueueStatements.claimDue}.
     */
    | { readonly kind: 'release' }
    /** The claim ends; the next attempt is due after `delayMs`. Attempts grow by one. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
    /** The claim ends and the config is `disabled`. */
    | { readonly kind: 'disable'; readonly error: string };
}

/** An event that is not tried again. */
export interface DeadLetter extends PushKey {
  readonly seq: number;
  /** Attempts that failed, the last included. */
  readonly attempts: number;
  readonly error: string;
  readonly body: string;
  readonly contentType: string;
}

/** A dead letter an operator wants sent again, claimed. */
export interface ClaimedDeadLetter extends DeadLetter {
  readonly scope: Scope;
  readonly payload: string;
  readonly wireVersion: string;
  readonly origin: string;
  readonly claim: number;
}

/** A config's deliveries, for operators. Never shows the config's secrets. */
export interface PushListing extends PushKey {
  readonly scope: Scope;
  readonly url: string;
  readonly status: PushStatus;
  readonly position: number;
  /** 0: the task is not there yet. */
  readonly version: number;
  readonly attempts: number;
  readonly lastError: string | null;
  /** Who delivers it now; null: nobody. */
  readonly holder: string | null;
  /** Milliseconds until its next attempt, or until its claim expires; negative: due. Null: none is to come. */
  readonly dueInMs: number | null;
  /** Milliseconds since the first failed attempt of the next event; null: it has none. */
  readonly failingForMs: number | null;
}

/** A dead letter, for operators. */
export interface DeadLetterListing extends PushKey {
  readonly scope: Scope;
  readonly url: string;
  readonly seq: number;
  readonly attempts: number;
  readonly error: string;
  /** Milliseconds since it was given up. */
  readonly ageMs: number;
  /** `dead`; `queued`: an operator has asked for it, not sent yet; `delivered` after that. */
  readonly status: 'dead' | 'queued' | 'delivered';
}

/** How many of each there are, over all tenants. */
export interface PushCounts {
  /** Active configs with events that wait, first attempts and retries alike. */
  readonly waiting: number;
  /** Those of them with a failed attempt. */
  readonly retrying: number;
  readonly disabled: number;
  readonly deadLetters: number;
}

/** What was claimed of what was due. */
export interface DuePushes {
  readonly claimed: readonly ClaimedPush[];
  /** Rows that were due, claimed or put off: as many as the limit means that more may be. */
  readonly seen: number;
}

/**
 * The statements of push delivery (protocol 9): a position per (task, config), claimed like a lease. All moments are
 * of the database's clock. Nothing here is scoped: deliveries have no caller; what a claim gives carries its scope.
 *
 * A config is due when `due_at` has passed: its next attempt, the end of a claim, or the next look. A live claim is
 * never taken. Claims skip rows that another transaction has locked. Settlements and burials are fenced by `claim`.
 */
export interface PushQueueStatements {
  /**
   * Claims the configs of these tasks that have events after their position and are neither claimed nor waiting for
   * a retry, none of an origin in `exceptOrigins` where named. At most `MOST_TASKS_AT_ONCE` tasks. `known`: the tasks
   * that have any active config at all.
   */
  claimOf(
    claim: PushClaimant & { readonly taskIds: readonly string[]; readonly exceptOrigins?: readonly string[] },
  ): Promise<{ readonly claimed: readonly ClaimedPush[]; readonly known: readonly string[] }>;
  /**
   * Claims at most `limit` configs that are due, the longest due first, none of an origin in `exceptOrigins` and,
   * where named, only of `onlyOrigins`. Of
   * those due without events after their position: an ended task's become `done`; the rest is put off for a quarter
   * of the time since they last changed, 5 s at least and 10 min at most; one that has had no task for an hour is
   * removed (its first message was answered without one).
   */
  claimDue(
    claim: PushClaimant & {
      readonly limit: number;
      readonly exceptOrigins: readonly string[];
      readonly onlyOrigins?: readonly string[];
    },
  ): Promise<DuePushes>;
  /** Stores settlements, of one config at most one, in one transaction. Gives the keys whose claim still held. */
  settle(settlements: readonly PushSettlement[]): Promise<readonly PushKey[]>;
  /** Keeps the body of an event for every attempt. False when the claim is another's by now. */
  storeBody(
    store: PushKey & { readonly claim: number; readonly seq: number; readonly body: string },
  ): Promise<boolean>;
  /**
   * Moves an event to the dead letters and the position past it; attempts, failure and body are cleared, the claim
   * goes on for `ttlMs`. One transaction. False when the claim is another's by now.
   */
  bury(letter: DeadLetter & { readonly claim: number; readonly ttlMs: number }): Promise<boolean>;
  /** Dead letters that an operator has asked for; at most `limit`. */
  claimDeadLetters(claim: PushClaimant & { readonly limit: number }): Promise<readonly ClaimedDeadLetter[]>;
  /** What became of one: delivered (`error` null), or dead again with one more attempt. */
  settleDeadLetter(
    settled: PushKey & { readonly seq: number; readonly claim: number; readonly error: string | null },
  ): Promise<boolean>;
  /**
   * An operator's retry: what waits is due at once, a disabled config is active again and continues where it was,
   * dead letters are queued. Of one config, or of all of the task. Gives how many of each were touched.
   */
  retry(find: {
    readonly taskId: string;
    readonly configId?: string;
  }): Promise<{ readonly configs: number; readonly deadLetters: number }>;
  /** Configs that wait, are claimed or disabled, the longest due first. Of one task, where named: all of its own. */
  list(find: { readonly taskId?: string; readonly limit: number }): Promise<readonly PushListing[]>;
  /** The youngest first. */
  listDeadLetters(find: {
    readonly taskId?: string;
    readonly limit: number;
  }): Promise<readonly DeadLetterListing[]>;
  counts(): Promise<PushCounts>;
}
