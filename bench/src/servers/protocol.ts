/** What a server process is. */
export interface ServerSettings {
  /**
   * `cluster`: ours. `sdk`: `DefaultRequestHandler` over its own `DatabaseTaskStore`. `original`: whole task rewritten
   * per event, a poll per subscriber, a renewal per task. The `-memory` kinds keep nothing in a database.
   */
  readonly kind: 'cluster' | 'sdk' | 'original' | 'cluster-memory' | 'sdk-memory';
  /** Empty for the `-memory` kinds. */
  readonly databaseUrl: string;
  readonly poolSize?: number;
  /** Counts what {@link ServerStats.decodes} tells. */
  readonly countDecodes?: boolean;
  /** Ours only. */
  readonly hints?: 'auto' | 'listen' | 'poll';
  /** Ours only. */
  readonly pollIntervalMs?: number;
  /** Ours only: with push notifications, to webhooks on this machine. */
  readonly push?: boolean;
}

/** What a server has used. */
export interface ServerStats {
  readonly rssBytes: number;
  /** Since it started, without the collections made to tell `rssBytes`. */
  readonly cpuMs: number;
  /** Sent to PostgreSQL since the last time they were asked for, by text. */
  readonly statements: readonly (readonly [string, number])[];
  /** Chunks with a stamp that were decoded from a text since the last time; 0 unless `countDecodes` was asked for. */
  readonly decodes: number;
}

/** What a server says. */
export type ServerMessage =
  { readonly type: 'ready'; readonly port: number } | { readonly type: 'stats'; readonly stats: ServerStats };

/** What a server is told. */
export type ServerCommand =
  { readonly type: 'stats' } | { readonly type: 'release' } | { readonly type: 'close' };
