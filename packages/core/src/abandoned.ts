import { isTerminalName, type StateName } from './states.js';

/** What the sweeper does with an expired lease. */
export type Verdict =
  /** The turn died: the task becomes FAILED and the lease goes. */
  | 'fail'
  /** The turn had ended, or there is no task to end: only the lease goes. */
  | 'drop';

/** What the verdict depends on. */
export interface AbandonedTurn {
  /** The task's state, or null when there is no task row. */
  readonly state: StateName | null;
  /** The lease's `pending` mark. */
  readonly pending: boolean;
}

/**
 * Is this turn dead, and what follows (protocol 6)? The one place that decides it; the SQL of each database says
 * the same and the contract suite holds them together.
 *
 * AUTH_REQUIRED with a held lease fails: its executor was still running. INPUT_REQUIRED drops, unless the turn was
 * opened by an accepted follow-up that has said nothing yet.
 */
export function verdictOn(turn: AbandonedTurn): Verdict {
  if (turn.state === null || isTerminalName(turn.state)) return 'drop';
  if (turn.pending) return 'fail';
  return turn.state === 'TASK_STATE_INPUT_REQUIRED' ? 'drop' : 'fail';
}
