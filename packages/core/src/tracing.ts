import {
  context,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import { errorText } from './errors.js';

/** The spans of a cluster. */
export type SpanName = 'a2a.admission' | 'a2a.turn' | 'a2a.commit' | 'a2a.sweep' | 'a2a.push.delivery';

/** What a span says; ids are fine here, a span is one occurrence. Keys begin with `a2a.`. */
export type SpanFacts = Attributes;

/** Where a span belongs: the context of OpenTelemetry that was active somewhere. */
export type TraceContext = Context;

/** The span of one occurrence. With tracing off there is one of them for everybody, which does nothing. */
export interface OpenSpan {
  /** Whether anybody keeps what is said of it. */
  readonly isRecording: boolean;
  /** Runs something inside the span: what it opens, and awaits, belongs to it. Gives what that gives. */
  run<T>(action: () => T): T;
  /** Says more of it. `facts` is not called where nobody keeps them. */
  note(facts: () => SpanFacts): void;
  /** Notes an error; the span goes on. */
  failed(error: unknown): void;
  /** Ends it. Idempotent. */
  end(): void;
}

/** Options of {@link openSpan}. */
export interface SpanOptions {
  /** Default: what is active now. Null: none, a trace of its own. */
  readonly parent?: TraceContext | null;
  /** The span is a turn: what is written inside it knows it as its turn, see {@link activeOrigin}. */
  readonly isTurn?: boolean;
  /** The span is a call to somebody else's service. */
  readonly isCall?: boolean;
}

/** The provider that stands there while nobody has registered one. */
const NOBODY = new ProxyTracerProvider().getDelegate();

const TURN = Symbol('a2a-cluster turn');

const SILENT_SPAN: OpenSpan = {
  isRecording: false,
  run: (action) => action(),
  note: () => {},
  failed: () => {},
  end: () => {},
};

/** Whether a tracer provider is registered with `@opentelemetry/api`. Asked before anything is made for a span. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== NOBODY;
}

/** The context that is active now, for spans that are opened later; undefined with tracing off. */
export function activeTrace(): TraceContext | undefined {
  return isTracing() ? context.active() : undefined;
}

/** Opens a span. The caller ends it. */
export function openSpan(name: SpanName, options: SpanOptions = {}): OpenSpan {
  return isTracing() ? new LiveSpan(name, options) : SILENT_SPAN;
}

/**
 * Runs something in a span of its own, which ends with it. What it throws is noted and thrown on.
 * @throws what `action` throws.
 */
export function traced<T>(name: SpanName, action: (span: OpenSpan) => Promise<T>): Promise<T> {
  return isTracing() ? tracedIn(new LiveSpan(name, {}), action) : action(SILENT_SPAN);
}

/** Runs something in an open span and ends it. @throws what `action` throws. */
export async function tracedIn<T>(span: OpenSpan, action: (span: OpenSpan) => Promise<T>): Promise<T> {
  try {
    return await span.run(() => action(span));
  } catch (error) {
    span.failed(error);
    throw error;
  } finally {
    span.end();
  }
}

/** Runs something as if nothing had led to it: a loop must not belong to whatever happened to start it. */
export function detached<T>(action: () => T): T {
  return isTracing() ? context.with(ROOT_CONTEXT, action) : action();
}

/**
 * Where later work for what is written now belongs: the turn that writes it, or else the span that is active. Undefined
 * where there is none.
 */
export function activeOrigin(): TraceContext | undefined {
  if (!isTracing()) return undefined;
  const active = context.active();
  const origin = (active.getValue(TURN) as SpanContext | undefined) ?? trace.getSpanContext(active);
  return origin === undefined ? undefined : trace.setSpanContext(ROOT_CONTEXT, origin);
}

/**
 * The headers that carry an open span to another service, by the propagator that is registered; none without one. Only
 * the span is carried: baggage is for one's own services.
 */
export function headersOf(span: OpenSpan): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (span instanceof LiveSpan) propagation.inject(trace.setSpan(ROOT_CONTEXT, span.span), headers);
  return headers;
}

/**
 * Runs something in the trace that a request's headers name. Where a span is active already, as with the HTTP
 * instrumentation of OpenTelemetry, that one is left in place.
 */
export function withTraceOf<T>(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  action: () => T,
): T {
  if (!isTracing() || trace.getSpan(context.active()) !== undefined) return action();
  return context.with(propagation.extract(context.active(), headers), action);
}

class LiveSpan implements OpenSpan {
  readonly span: Span;
  readonly #context: Context;

  constructor(name: SpanName, { parent, isTurn = false, isCall = false }: SpanOptions) {
    const from = parent === null ? ROOT_CONTEXT : (parent ?? context.active());
    const kind = isCall ? SpanKind.CLIENT : SpanKind.INTERNAL;
    this.span = trace.getTracer('a2a-cluster').startSpan(name, { kind }, from);
    const within = trace.setSpan(from, this.span);
    this.#context = isTurn ? within.setValue(TURN, this.span.spanContext()) : within;
  }

  get isRecording(): boolean {
    return this.span.isRecording();
  }

  run<T>(action: () => T): T {
    return context.with(this.#context, action);
  }

  note(facts: () => SpanFacts): void {
    if (this.span.isRecording()) this.span.setAttributes(facts());
  }

  failed(error: unknown): void {
    if (!this.span.isRecording()) return;
    const message = errorText(error);
    this.span.recordException(error instanceof Error ? error : message);
    this.span.setStatus({ code: SpanStatusCode.ERROR, message });
  }

  end(): void {
    if (this.span.isRecording()) this.span.end();
  }
}
