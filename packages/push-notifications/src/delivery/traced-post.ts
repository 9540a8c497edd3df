import {
  activeOrigin,
  headersOf,
  isTracing,
  openSpan,
  tracedIn,
  type OpenSpan,
  type TraceContext,
} from '@a2a-cluster/core';
import type { WebhookClient, WebhookRequest } from '../webhook/client.js';
import type { WebhookOutcome } from '../webhook/outcome.js';

/** Tasks whose origin is remembered; the one that was noted first goes first. */
const MOST_TASKS = 10_000;

/**
 * Which trace the events of a task come from, as far as this replica committed them: it stands in no table, so what
 * another replica delivers after a takeover begins a trace of its own.
 */
export class DeliveryOrigins {
  private readonly origins = new Map<string, TraceContext>();

  /** To be called where events are committed: what is active there is their origin. Nothing with tracing off. */
  note(taskId: string): void {
    const origin = activeOrigin();
    if (origin === undefined) return;
    this.origins.delete(taskId);
    this.origins.set(taskId, origin);
    if (this.origins.size <= MOST_TASKS) return;
    for (const oldest of this.origins.keys()) return void this.origins.delete(oldest);
  }

  /** Null: not known here. */
  of(taskId: string): TraceContext | null {
    return this.origins.get(taskId) ?? null;
  }
}

/** One attempt, and what it is about. */
export interface TracedPost {
  readonly client: WebhookClient;
  readonly request: WebhookRequest;
  readonly signal: AbortSignal;
  readonly event: { readonly taskId: string; readonly configId: string; readonly seq: number };
  readonly holder: string;
  /** Which attempt of this event it is, from 1. */
  readonly attempt: number;
  readonly origin: TraceContext | null;
}

/**
 * Makes the attempt in a span of its own, whose trace the request carries in its headers where a propagator is
 * registered. No header of the request is replaced. Never rejects.
 */
export function tracedPost(post: TracedPost): Promise<WebhookOutcome> {
  const { client, request, signal, origin } = post;
  if (!isTracing()) return client.post(request, signal);
  const span = openSpan('a2a.push.delivery', { parent: origin, isCall: true });
  const { taskId, configId, seq } = post.event;
  span.note(() => ({
    'a2a.task_id': taskId,
    'a2a.push.config_id': configId,
    'a2a.seq': seq,
    'a2a.replica_id': post.holder,
    'a2a.push.attempt': post.attempt,
  }));
  return tracedIn(span, async () => {
    const outcome = await client.post(withTrace(request, span), signal);
    span.note(() => ({ 'a2a.push.outcome': outcome.kind }));
    if ('error' in outcome) span.failed(outcome.error);
    return outcome;
  });
}

function withTrace(request: WebhookRequest, span: OpenSpan): WebhookRequest {
  const taken = new Set(Object.keys(request.headers).map((name) => name.toLowerCase()));
  const added = Object.entries(headersOf(span)).filter(([name]) => !taken.has(name.toLowerCase()));
  return { ...request, headers: { ...Object.fromEntries(added), ...request.headers } };
}
