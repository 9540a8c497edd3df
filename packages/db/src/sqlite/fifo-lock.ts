/**
 * A lock for the asynchronous callers of one process, first come, first served. It guards no data (the statements do
 * that): it lets one caller at a time wait for SQLite's lock, so that a hundred waiting ones do not stop the event
 * loop a hundred times.
 */
export class FifoLock {
  private tail: Promise<void> = Promise.resolve();
  private waiting = 0;

  /** Nobody holds it or waits for it. */
  get free(): boolean {
    return this.waiting === 0;
  }

  /** Resolves when it is the caller's turn, with what ends the turn; to be called exactly once. */
  async acquire(): Promise<() => void> {
    const before = this.tail;
    let release = (): void => {};
    this.tail = new Promise<void>((resolve) => {
      release = () => {
        this.waiting -= 1;
        resolve();
      };
    });
    this.waiting += 1;
    await before;
    return release;
  }

  /** Runs an action alone. */
  async run<T>(action: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await action();
    } finally {
      release();
    }
  }
}
