import type { RawAnswer } from '../support/raw-request.js';
import type { Fault, Row } from './row.js';

interface ErrorBody {
  readonly code?: unknown;
  readonly message?: unknown;
  /** Over JSON-RPC. */
  readonly data?: readonly { readonly reason?: unknown }[];
  /** Over REST. */
  readonly details?: readonly { readonly reason?: unknown }[];
}

interface Body extends ErrorBody {
  readonly jsonrpc?: unknown;
  readonly result?: unknown;
  readonly error?: ErrorBody;
}

/** What is wrong with the answer to a row, in one line; null: nothing. */
export function verdict(row: Row, answer: RawAnswer): string | null {
  const said = `${answer.status} ${answer.text.slice(0, 300)}`;
  if (/<html|node_modules|\n\s+at /i.test(answer.text)) return `tells of the inside: ${said}`;
  if (!/json/.test(answer.headers['content-type'] ?? '')) return `is no JSON: ${said}`;
  const body = JSON.parse(answer.text) as Body;
  if (row.answer === 'taken') return isTaken(row, body) ? null : `is not taken: ${said}`;
  const wanted = JSON.stringify(wantedOf(row, row.answer));
  const got = JSON.stringify(gotOf(row, answer, body));
  return got === wanted ? null : `wants ${wanted}, got ${got}: ${said}`;
}

/** HTTP status, code and reason, as far as the form has them. */
function wantedOf({ form }: Row, { status, code, reason, rpcStatus = 200 }: Fault): unknown[] {
  switch (form) {
    case 'REST':
      return [status, status, reason];
    case 'REST of 0.3':
      return [status, code];
    case 'JSON-RPC':
      return [rpcStatus, code, reason];
    case 'JSON-RPC of 0.3':
      return [rpcStatus, code];
  }
}

function gotOf({ form }: Row, { status }: RawAnswer, body: Body): unknown[] {
  const error = form === 'REST of 0.3' ? body : body.error;
  if (typeof error?.message !== 'string') return ['no error'];
  if (form.startsWith('JSON-RPC') && (body.jsonrpc !== '2.0' || 'result' in body)) return ['no JSON-RPC'];
  switch (form) {
    case 'REST':
      return [status, error.code, error.details?.[0]?.reason ?? null];
    case 'JSON-RPC':
      return [status, error.code, error.data?.[0]?.reason ?? null];
    case 'REST of 0.3':
    case 'JSON-RPC of 0.3':
      return [status, error.code];
  }
}

function isTaken({ form }: Row, body: Body): boolean {
  return body.error === undefined && (form.startsWith('REST') || body.result !== undefined);
}
