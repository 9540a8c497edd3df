import type { Clock } from '@a2a-cluster/core';
import type { EventStream } from '@a2a-cluster/event-stream';

/** What is waited for. */
export interface WaitForRelease {
  readonly stream: EventStream;
  readonly clock: Clock;
  readonly taskId: string;
  /** The turn that is about to let go. */
  readonly epoch: number;
  readonly limitMs: number;
  /** Ends the wait early. */
  readonly signal: AbortSignal;
}

/**
 * Waits until that turn has let go of its lease, woken by the dispatcher's one query (protocol 4), or until the time is
 * up. A release between the refusal and this call is seen by the first look, which comes soon.
 */
export function waitForRelease(wait: WaitForRelease): Promise<void> {
  const { stream, clock, taskId, epoch, limitMs, signal } = wait;
  return new Promise((resolve) => {
    const settle = (): void => {
      timer.cancel();
      unwatch();
      signal.removeEventListener('abort', settle);
      resolve();
    };
    const timer = clock.setTimer(limitMs, settle);
    signal.addEventListener('abort', settle, { once: true });
    const unwatch = stream.watchHead({
      taskId,
      soon: true,
      onHead: (head) => {
        const held = head?.lease?.epoch === epoch;
        // A head read before that turn was opened says nothing of its lease.
        const stale = head !== null && head.version < epoch;
        if (!held && !stale) settle();
      },
    });
  });
}
