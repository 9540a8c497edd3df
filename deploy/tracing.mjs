// Switches tracing on: node --import ./tracing.mjs ...
// Spans go to OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP, the exporter reads the variable itself); without it they are
// printed, for a first look. See docs/operations.md.
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BatchSpanProcessor,
  BasicTracerProvider,
  ConsoleSpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [await spanProcessor()] }));

async function spanProcessor() {
  if (!process.env.OTEL_EXPORTER_OTLP_ENDPOINT) return new SimpleSpanProcessor(new ConsoleSpanExporter());
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  // Often, for a replica that has drained ends at once: what ended less than this ago is lost then.
  return new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: 500 });
}
