import express from 'express';
import type { RequestHandler } from 'express';
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { errorText, type Logger } from '@a2a-cluster/core';

/** What a metric is. Names and units as Prometheus wants them: `a2a_cluster_..._seconds`, counters in `_total`. */
export interface MetricSpec {
  readonly name: string;
  readonly help: string;
  /** The names of its labels; default none. */
  readonly labels?: readonly string[];
}

/** The values of a metric's labels, by name. */
export type LabelValues = Readonly<Record<string, string>>;

/** One value, read when somebody asks for the metrics. */
export interface Reading {
  /** Of a counter: the total, which never falls. */
  readonly type: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly value: number;
  readonly labels?: LabelValues;
}

/** A value that goes up and down. */
export interface GaugeMetric {
  set(value: number, labels?: LabelValues): void;
}

/** A value that only grows. */
export interface CounterMetric {
  add(by?: number, labels?: LabelValues): void;
}

/** The metrics of a process. */
export interface Metrics {
  /** Registers a gauge; a name can be registered once. */
  gauge(spec: MetricSpec): GaugeMetric;
  /** Registers a counter; a name can be registered once. */
  counter(spec: MetricSpec): CounterMetric;
  /** `GET`: all of them, as Prometheus reads them. */
  readonly handler: RequestHandler;
}

/** Options of {@link createMetrics}. */
export interface MetricsOptions {
  /** Asked each time the metrics are. What it throws is logged, and the other metrics are shown without it. */
  readonly collect?: () => readonly Reading[] | Promise<readonly Reading[]>;
  readonly logger: Logger;
  /** Registries that are shown as well; no name may stand in two. */
  readonly registries?: readonly Pick<Registry, 'metrics'>[];
  /** Whether those of the process are among them: memory, CPU, event loop; default true. */
  readonly ofProcess?: boolean;
}

/** Metrics in a registry of their own. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { collect = () => [], logger, registries = [], ofProcess = true } = options;
  const registry = new Registry();
  if (ofProcess) collectDefaultMetrics({ register: registry });
  const read = async (): Promise<string> => {
    try {
      return await registryOf(await collect()).metrics();
    } catch (error) {
      logger.error({ err: error }, `some metrics cannot be read: ${errorText(error)}`);
      return '';
    }
  };
  const router = express.Router();
  router.get('/', async (_req, res) => {
    const shown = await Promise.all([registry, ...registries].map((one) => one.metrics()));
    const text = [...shown, await read()].join('');
    res.setHeader('Content-Type', registry.contentType);
    res.end(text);
  });
  return {
    gauge(spec) {
      const gauge = new Gauge(configOf(spec, registry));
      return { set: (value, labels = {}) => gauge.set(labels, value) };
    },
    counter(spec) {
      const counter = new Counter(configOf(spec, registry));
      return { add: (by = 1, labels = {}) => counter.inc(labels, by) };
    },
    handler: router,
  };
}

function configOf(
  { name, help, labels = [] }: MetricSpec,
  registry: Registry,
): { name: string; help: string; labelNames: string[]; registers: Registry[] } {
  return { name, help, labelNames: [...labels], registers: [registry] };
}

/** Readings in a registry that is made for them: what is not read any more is not shown any more. */
function registryOf(readings: readonly Reading[]): Registry {
  const registry = new Registry();
  const made = new Map<string, Gauge | Counter>();
  for (const { type, name, help, labels = {}, value } of readings) {
    const config = configOf({ name, help, labels: Object.keys(labels) }, registry);
    const metric = made.get(name) ?? (type === 'gauge' ? new Gauge(config) : new Counter(config));
    made.set(name, metric);
    metric.inc(labels, value);
  }
  return registry;
}
