import { Counter, Histogram, Registry } from 'prom-client';
import {
  COUNTERS,
  HISTOGRAMS,
  type CounterName,
  type HistogramName,
  type MetricDefinition,
  type Telemetry,
} from '@a2a-cluster/core';

/** What every metric of a cluster begins with. */
export const METRIC_PREFIX = 'a2a_cluster_';

/** What a cluster is given to tell of itself, and where that stands for Prometheus. */
export interface TelemetryMetrics {
  /** For `createCluster`. */
  readonly telemetry: Telemetry;
  /** Every metric of the catalogue, each series at 0 from the start: a rate needs a value before the first event. */
  readonly registry: Registry;
}

/** Counters and histograms of the catalogue in a registry of their own. */
export function createTelemetryMetrics(): TelemetryMetrics {
  const registry = new Registry();
  const counters = new Map<CounterName, Counter>();
  const histograms = new Map<HistogramName, Histogram>();
  for (const name of Object.keys(COUNTERS) as CounterName[])
    counters.set(name, counterOf(name, { definition: COUNTERS[name], registry }));
  for (const name of Object.keys(HISTOGRAMS) as HistogramName[])
    histograms.set(name, histogramOf(name, registry));
  return {
    registry,
    telemetry: {
      count(name, labels, by = 1) {
        if (labels === undefined) counters.get(name)?.inc(by);
        else counters.get(name)?.inc(labels, by);
      },
      observe(name, value, labels) {
        if (labels === undefined) histograms.get(name)?.observe(value);
        else histograms.get(name)?.observe(labels, value);
      },
    },
  };
}

function counterOf(
  name: CounterName,
  made: { readonly definition: MetricDefinition; readonly registry: Registry },
): Counter {
  const { definition, registry } = made;
  const labelNames = Object.keys(definition.labels ?? {});
  const counter = new Counter({
    name: METRIC_PREFIX + name,
    help: definition.help,
    labelNames,
    registers: [registry],
  });
  for (const labels of seriesOf(definition)) counter.inc(labels, 0);
  return counter;
}

function histogramOf(name: HistogramName, registry: Registry): Histogram {
  const { help, buckets } = HISTOGRAMS[name];
  const histogram = new Histogram({
    name: METRIC_PREFIX + name,
    help,
    buckets: [...buckets],
    registers: [registry],
  });
  histogram.zero({});
  return histogram;
}

/** Every set of label values that a metric may have. */
export function seriesOf({ labels = {} }: MetricDefinition): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<readonly Readonly<Record<string, string>>[]>(
    (series, [label, values]) =>
      series.flatMap((known) => values.map((value) => ({ ...known, [label]: value }))),
    [{}],
  );
}
