/** What a sender is. */
export interface SenderSettings {
  readonly replicaId: string;
  readonly databaseUrl: string;
  /** Attempts under way at once; as many to one origin. */
  readonly concurrency: number;
  /** After a death others go on when this has passed, and a poll. */
  readonly claimTtlMs: number;
  readonly attemptTimeoutMs: number;
  readonly pollIntervalMs: number;
}

/** What a sender used from its start to its end. */
export interface SenderUse {
  /** Before the statement that brought its first claims was sent, see `nowMs`; null: it had none. */
  readonly firstClaimMs: number | null;
  /** Calls of the database by their name: on PostgreSQL each is a statement. */
  readonly calls: readonly (readonly [string, number])[];
  readonly cpuMs: number;
}

/** What a sender says. */
export type SenderMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'opened' }
  | { readonly type: 'stopped'; readonly use: SenderUse };

/** What a sender is told. `open` makes a replica, `start` starts it, `stop` closes it; after that it can be opened again. */
export type SenderCommand =
  | { readonly type: 'open' }
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  | { readonly type: 'close' };
