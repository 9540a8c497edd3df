/** What became of attempts. `buried`: an event became a dead letter. */
export type DeliveryEnd = 'delivered' | 'failed' | 'rejected' | 'gone' | 'buried';

/** How many of each there were since the start of this process. */
export type DeliveryCounts = Readonly<Record<DeliveryEnd, number>>;

/** Counts what became of attempts. */
export class DeliveryCounters {
  private readonly counts: Record<DeliveryEnd, number> = {
    delivered: 0,
    failed: 0,
    rejected: 0,
    gone: 0,
    buried: 0,
  };

  count(end: DeliveryEnd): void {
    this.counts[end] += 1;
  }

  read(): DeliveryCounts {
    return { ...this.counts };
  }
}
