import { context, propagation, trace, type Attributes } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { waitUntil } from './wait-until.js';

/** Tracing switched on for this process, and every span that has ended. */
export interface Traces {
  /** All that have ended, in that order. */
  readonly ended: () => readonly ReadableSpan[];
  /** The first of a name whose attributes fit, once it has ended. */
  span(name: string, attributes?: Attributes): Promise<ReadableSpan>;
  /** Those of a name whose attributes fit. */
  spans(name: string, attributes?: Attributes): readonly ReadableSpan[];
  /** Switches it off again. */
  off(): void;
}

/** Registers a provider, a context manager and the propagators of W3C, as `tracing.mjs` of the documentation does. */
export function switchTracingOn(): Traces {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  const spans = (name: string, attributes: Attributes = {}): readonly ReadableSpan[] =>
    exporter
      .getFinishedSpans()
      .filter((span) => span.name === name)
      .filter((span) => Object.entries(attributes).every(([key, value]) => span.attributes[key] === value));
  return {
    ended: () => exporter.getFinishedSpans(),
    spans,
    span: (name, attributes) =>
      waitUntil({
        what: `a span ${name} of ${JSON.stringify(attributes ?? {})} ends`,
        limitMs: 10_000,
        ask: async () => spans(name, attributes)[0],
      }),
    off() {
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
