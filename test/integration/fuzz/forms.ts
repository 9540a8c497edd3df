import type { RawAnswer } from '../support/raw-request.js';

interface ErrorForm {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly message?: unknown;
  readonly data?: readonly { readonly reason?: unknown }[];
  readonly details?: readonly { readonly reason?: unknown }[];
}

/** Refusals that are ours and pass; every other fault of the server is one. */
const PASSING = ['REPLICA_DRAINING', 'TOO_MANY_TURNS', 'STORE_UNAVAILABLE'];

/** What is wrong with the form of an answer to a path, whatever was asked; null: nothing. */
export function wrongForm(path: string, answer: RawAnswer): string | null {
  const { status, text, headers } = answer;
  if (/node_modules|<html|\n\s+at /i.test(text)) return 'it tells of the inside';
  if (status >= 500 && !isPassing(status, text)) return `it is answered with ${status}`;
  if (text === '') return [204, 304, 405, 404].includes(status) ? null : `nothing is said with ${status}`;
  const type = headers['content-type'] ?? '';
  const bodies = type.startsWith('text/event-stream') ? events(text) : [text];
  if (!/json|event-stream/.test(type)) return `it is ${type}`;
  for (const body of bodies) {
    const wrong = isRpc(path) ? wrongRpc(JSON.parse(body)) : wrongRest(status, JSON.parse(body));
    if (wrong !== null) return wrong;
  }
  return null;
}

/** Below its path; beside it there is only REST's form. */
function isRpc(path: string): boolean {
  return /^\/a2a\/jsonrpc([/?]|$)/i.test(path);
}

function isPassing(status: number, text: string): boolean {
  return status === 503 && /"UNAVAILABLE"/.test(text) && PASSING.some((reason) => text.includes(reason));
}

/** The whole events of a stream; the last may have been cut off by whoever read it. */
function events(text: string): string[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((event) =>
      event
        .split('\n')
        .flatMap((line) => (line.startsWith('data:') ? line.slice(5) : []))
        .join('\n'),
    );
}

function wrongRpc(body: unknown): string | null {
  const { jsonrpc, id, error, result } = Object(body) as Record<string, unknown> & {
    readonly error?: ErrorForm;
  };
  if (jsonrpc !== '2.0') return 'it is no JSON-RPC';
  if (id !== null && typeof id !== 'string' && typeof id !== 'number') return 'its id is none';
  if ((error === undefined) === (result === undefined)) return 'it is neither result nor error, or both';
  if (error === undefined) return null;
  if (!Number.isInteger(error.code) || typeof error.message !== 'string')
    return 'its error has no code or message';
  const reason = String(error.data?.[0]?.reason ?? '');
  return error.code === -32603 && !PASSING.includes(reason)
    ? `it is an internal error: ${error.message}`
    : null;
}

function wrongRest(status: number, body: unknown): string | null {
  const { error, code, message } = Object(body) as ErrorForm & { readonly error?: ErrorForm };
  if (status < 400)
    return error !== undefined && error.code === 500 ? 'its stream ends in an internal error' : null;
  // The form of 0.3, on its own paths.
  if (error === undefined)
    return Number.isInteger(code) && typeof message === 'string' ? null : 'its error has no form';
  const named = typeof error.status === 'string' && typeof error.message === 'string';
  return error.code === status && named ? null : 'its error has no code, status or message';
}
