/** Labels of a measurement: names and values from closed sets, never an id of a task, an owner or a context. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/**
 * What a cluster counts and measures. Its packages tell it; it tells Prometheus, OpenTelemetry or nobody. The names are
 * those of {@link COUNTERS} and {@link HISTOGRAMS}. Neither call may throw, wait or do I/O: both stand on the hot path.
 */
export interface Telemetry {
  /** Adds to a counter; `by` defaults to 1 and is never negative. */
  count(name: CounterName, labels?: TelemetryLabels, by?: number): void;
  /** Notes one value of a histogram, in the unit of its name (`_seconds`: seconds). */
  observe(name: HistogramName, value: number, labels?: TelemetryLabels): void;
}

/** Measures nothing: the default of every package. */
export const SILENT_TELEMETRY: Telemetry = { count: () => {}, observe: () => {} };

/** What one metric is. */
export interface MetricDefinition {
  readonly help: string;
  /** Every label a measurement carries, with every value it may have: so the number of series is known. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Counters, by name; shown with the prefix `a2a_cluster_`. */
export const COUNTERS = {
  leases_acquired_total: {
    help: 'Leases acquired here, by what opened the turn',
    labels: { by: ['new_task', 'follow_up'] },
  },
  leases_renewed_total: { help: 'Renewals of leases that the database confirmed' },
  leases_lost_total: {
    help: 'Leases lost here while their turn ran; gone: no row of ours any more, taken: it carries another turn',
    labels: { cause: ['deadline', 'gone', 'taken'] },
  },
  heartbeats_failed_total: { help: 'Heartbeats that were not answered in time or with an error' },
  turns_refused_total: {
    help: 'Turns refused before anything was stored',
    labels: { reason: ['TASK_BUSY', 'REPLICA_DRAINING', 'TOO_MANY_TURNS'] },
  },
  turns_started_total: { help: 'Turns whose executor was started here' },
  turns_ended_total: {
    help: 'Turns that ended here, by how; lost: the lease was lost, and another replica ends the task',
    labels: {
      end: [
        ...(['completed', 'failed', 'canceled', 'rejected'] as const),
        ...(['input_required', 'auth_required', 'message', 'incomplete', 'lost'] as const),
      ],
    },
  },
  leases_swept_total: {
    help: 'Expired leases this replica took, by what became of the task; dropped: it had ended or waits for its client',
    labels: { verdict: ['failed', 'dropped'] },
  },
  quiet_periods_total: {
    help: 'Times this replica stopped claiming for a TTL because the database changed; blackout: it did not answer',
    labels: { cause: ['clock_step', 'other_server', 'blackout'] },
  },
  leaseless_turns_ended_total: {
    help: 'Tasks ended that were running for whoever wrote them, but had no lease',
  },
  late_writes_refused_total: { help: 'Writes of a turn refused because its lease was no longer its own' },
  stream_fallbacks_total: {
    help: 'Times a subscriber was behind what its replica buffers and read the log by itself',
  },
  stream_resets_total: {
    help: 'Times a subscriber got the whole task because the events it wanted were pruned',
  },
  pruned_total: { help: 'Rows that retention deleted', labels: { what: ['events', 'tasks'] } },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

/** Histograms, by name; shown with the prefix `a2a_cluster_`. `buckets` are upper bounds. */
export const HISTOGRAMS = {
  renewal_seconds: { help: 'Time a heartbeat took', buckets: SECONDS },
  renewal_margin_seconds: {
    help: 'Time that was left of the tightest lease when a heartbeat was answered, before it counted',
    buckets: [0, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 30, 60],
  },
  sweep_lag_seconds: {
    help: 'Time from the expiry of a lease to the sweep that took it, by the clock of the database',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 30, 60],
  },
  commit_seconds: { help: 'Time a commit of events took', buckets: SECONDS },
  commit_events: { help: 'Events per commit', buckets: [1, 2, 4, 8, 16, 32, 64, 128] },
  hint_to_delivery_seconds: {
    help: 'Time from the hint of another replica to the delivery of its events to subscribers here',
    buckets: SECONDS,
  },
} as const satisfies Readonly<Record<string, MetricDefinition & { readonly buckets: readonly number[] }>>;

/** The counters of a cluster. */
export type CounterName = keyof typeof COUNTERS;

/** The histograms of a cluster. */
export type HistogramName = keyof typeof HISTOGRAMS;

const NO_LABELS: TelemetryLabels = {};

/** One text per set of labels, whatever their order. Most measurements have none or one: those are not sorted. */
function keyOf(labels: TelemetryLabels): string {
  const names = Object.keys(labels);
  const [only] = names;
  if (only === undefined) return '';
  if (names.length === 1) return `${only}=${labels[only]}`;
  return names
    .sort()
    .map((name) => `${name}=${labels[name]}`)
    .join(',');
}

/** Telemetry that keeps the totals of the counters in memory, for whoever asks. */
export interface Tally extends Telemetry {
  /** The total of a counter since the tally was made: of these labels, or of all where none are named. */
  total(name: CounterName, labels?: TelemetryLabels): number;
}

/** Makes a tally that hands everything on to `next`. A failing `next` is left out of the call, not told. */
export function createTally(next: Telemetry = SILENT_TELEMETRY): Tally {
  const totals = new Map<CounterName, Map<string, number>>();
  const safely = (call: () => void): void => {
    try {
      call();
    } catch {
      // Measuring must not change what is measured.
    }
  };
  return {
    count(name, labels = NO_LABELS, by = 1) {
      let of = totals.get(name);
      if (of === undefined) totals.set(name, (of = new Map<string, number>()));
      const key = keyOf(labels);
      of.set(key, (of.get(key) ?? 0) + by);
      safely(() => next.count(name, labels, by));
    },
    observe(name, value, labels = NO_LABELS) {
      safely(() => next.observe(name, value, labels));
    },
    total(name, labels) {
      const of = totals.get(name);
      if (of === undefined) return 0;
      if (labels !== undefined) return of.get(keyOf(labels)) ?? 0;
      return [...of.values()].reduce((sum, value) => sum + value, 0);
    },
  };
}
