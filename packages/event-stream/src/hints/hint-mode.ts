/** Where news goes that a {@link HintMode} brings. Both only wake the dispatcher. */
export interface Wake {
  /** These tasks may have moved. */
  tasks(taskIds: readonly string[]): void;
  /** Anything may have moved. */
  all(): void;
  /** Nothing has been written since the last look. */
  quiet(): void;
}

/** How a replica hears of what others have written, and tells them. */
export interface HintMode {
  readonly mode: 'listen' | 'counter' | 'poll';
  /** Whether hints arrive by a connection that stands now. */
  readonly listening: boolean;
  /** How long the dispatcher may go without reading everything. */
  readonly pollIntervalMs: number;
  /** Resolves when the first attempt has been made, whatever came of it. */
  start(): Promise<void>;
  /** Bounded. Afterwards it wakes nobody. */
  close(): Promise<void>;
  /** Something is watched now, or nothing is. */
  watching(watching: boolean): void;
  /** Tells other replicas that the task has news. */
  send(taskId: string): void;
}
