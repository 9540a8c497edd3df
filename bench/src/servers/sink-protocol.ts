/** What a sink is. */
export interface SinkSettings {
  /** How many origins it is. */
  readonly ports: number;
  /** Takes requests and never answers. */
  readonly hangs?: boolean;
}

/** What came since the last `expect`. */
export interface SinkCounts {
  /** Notifications, each counted once. */
  readonly accepted: number;
  /** When the last of them was answered, see `nowMs`; 0: none. */
  readonly lastMs: number;
  /** How often notifications came again, by config. */
  readonly repeated: readonly (readonly [string, number])[];
  /** Notifications that came before one of the same config with a smaller seq. */
  readonly early: number;
}

/** What a sink says. `half` and `all`: of what it was told to expect. */
export type SinkMessage =
  | { readonly type: 'ready'; readonly ports: readonly number[] }
  | { readonly type: 'expecting' }
  | { readonly type: 'half' }
  | { readonly type: 'all' }
  | { readonly type: 'counts'; readonly counts: SinkCounts };

/** What a sink is told. */
export type SinkCommand =
  | { readonly type: 'expect'; readonly notifications: number }
  | { readonly type: 'counts' }
  | { readonly type: 'close' };
