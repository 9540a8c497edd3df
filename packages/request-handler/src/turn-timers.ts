import type { Clock, Timer } from '@a2a-cluster/core';

/** The timers of one turn: all gone when it is over, and none of them can bring the process down. */
export class TurnTimers {
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly onFault: (error: unknown) => void,
  ) {}

  /** Runs `action` after `delayMs` unless it is cancelled or cleared before. */
  after(delayMs: number, action: () => void): Timer {
    const timer = this.clock.setTimer(Math.max(0, delayMs), () => {
      this.timers.delete(handle);
      try {
        action();
      } catch (error) {
        this.onFault(error);
      }
    });
    const handle: Timer = {
      cancel: () => {
        this.timers.delete(handle);
        timer.cancel();
      },
    };
    this.timers.add(handle);
    return handle;
  }

  clear(): void {
    for (const timer of [...this.timers]) timer.cancel();
  }
}
