/**
 * Why a write of a turn was not stored (protocol 3.7). What was refused is not streamed and not pushed.
 *
 * `lease_lost` the lease is another's, gone or expired · `terminal` the task has ended · `gone` there is no such
 * task · `conflict` the version moved.
 */
export type CommitRefusal = 'lease_lost' | 'terminal' | 'gone' | 'conflict';

/**
 * Why a follow-up was not admitted.
 *
 * `not_found` no such task of this owner · `context_mismatch` the message names another context · `terminal` the
 * task has ended · `too_many_messages` the task has as many messages of its user as it may · `busy` a live turn holds
 * the lease · `parked_busy` a live turn holds the lease and the task already waits for input, so the holder is about to
 * let go · `abandoned` the lease has expired and its turn must be ended first · `expired` the lease has expired, its
 * task waits for input, and the opener did not ask to take it over · `duplicate` the message is in the log already.
 */
export type OpenRefusal =
  | { readonly refusal: 'not_found' | 'context_mismatch' | 'too_many_messages' }
  | { readonly refusal: 'terminal'; readonly state: string }
  | { readonly refusal: 'busy' | 'parked_busy' | 'abandoned' | 'expired'; readonly epoch: number }
  | { readonly refusal: 'duplicate'; readonly epoch: number; readonly seq: number };
