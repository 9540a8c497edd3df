import type { TaskDetail } from '../api/index.js';

/** A task as it was read, and when. */
export interface ReadTask {
  readonly detail: TaskDetail;
  /** By this machine's clock that only grows; for what counts down. */
  readonly readAt: number;
}
