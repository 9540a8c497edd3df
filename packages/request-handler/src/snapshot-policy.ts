/** A log may grow by this much before its snapshot is written again, however small the task. */
const SMALLEST_REWRITE_BYTES = 64 * 1024;

/**
 * When the holder writes the task's snapshot (protocol 3.9): when its turn ends or parks, and when the events since
 * the last snapshot weigh more than it. So the bytes written per event do not grow with the task.
 */
export class SnapshotPolicy {
  private bytesSince = 0;

  constructor(private snapshotBytes: number) {}

  /** Counts events that are about to be stored; true when the snapshot is due with them. */
  isDue(batch: { readonly bytes: number; readonly ends: boolean }): boolean {
    return batch.ends || this.bytesSince + batch.bytes > Math.max(SMALLEST_REWRITE_BYTES, this.snapshotBytes);
  }

  /** Notes that the snapshot that was due is too large to be stored: not tried again before as much has been added. */
  tooLarge(snapshotBytes: number): void {
    this.bytesSince = 0;
    this.snapshotBytes = snapshotBytes;
  }

  /** Notes what was stored. */
  stored(batch: { readonly bytes: number; readonly snapshotBytes: number | null }): void {
    if (batch.snapshotBytes === null) {
      this.bytesSince += batch.bytes;
      return;
    }
    this.bytesSince = 0;
    this.snapshotBytes = batch.snapshotBytes;
  }
}
