import type { A2AError } from '@a2a-js/sdk/errors';
import type { ServerCallContext } from '@a2a-js/sdk/server';

/** Why a request, or the call in it, was not answered as it was asked. */
export interface Refusal {
  /** As in the answer's ErrorInfo; for a refused turn the reason in its metadata, such as `TASK_BUSY`. */
  readonly reason: string;
  /** The code in the answer, of JSON-RPC or HTTP. */
  readonly code?: number;
  /** What the client is told. Not for the log: it may repeat what the client sent. */
  readonly message?: string;
}

/** What is known of one request, written down while it is answered. */
export interface RequestNotes {
  requestId?: string;
  /** Who it is from. */
  user?: string;
  tenant?: string;
  /** The task it is about. */
  taskId?: string;
  refusal?: Refusal;
  /** More about the refusal than the client is told. */
  detail?: string;
}

/** By the object of the headers: what builds the context of a call sees it, and not the request. */
const notes = new WeakMap<object, RequestNotes>();
const calls = new WeakMap<ServerCallContext, RequestNotes>();

/** The notes of a request. */
export function notesOf({ headers }: { readonly headers: object }): RequestNotes {
  const known = notes.get(headers);
  if (known !== undefined) return known;
  const fresh: RequestNotes = {};
  notes.set(headers, fresh);
  return fresh;
}

/** Says which request a call came with. */
export function noteContext(req: { readonly headers: object }, context: ServerCallContext): void {
  calls.set(context, notesOf(req));
}

/** The notes of the request a call came with; those of nobody where that was not said. */
export function notesOfCall(context: ServerCallContext): RequestNotes {
  return calls.get(context) ?? {};
}

/** Notes that a request is refused. The last one counts: it is what the client gets. */
export function noteRefusal(req: { readonly headers: object }, refusal: Refusal): void {
  notesOf(req).refusal = refusal;
}

/** What an error that ends a call says. */
export function refusalOf(error: A2AError): Refusal {
  return { reason: error.metadata?.['reason'] ?? error.reason, message: error.message };
}
