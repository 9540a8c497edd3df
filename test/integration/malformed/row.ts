import type { RawRequest } from '../support/raw-request.js';

/** An error of A2A in the words of both transports. */
export interface Fault {
  /** Over JSON-RPC. */
  readonly code: number;
  /** Over REST. */
  readonly status: number;
  /** In `ErrorInfo`; null: the SDK gives none. */
  readonly reason: string | null;
  /** The HTTP status over JSON-RPC; default 200. */
  readonly rpcStatus?: number;
}

/** The faults of the table. */
export const faults = {
  notJson: { code: -32700, status: 400, reason: 'INVALID_PARAMS' },
  noRequest: { code: -32600, status: 400, reason: 'INVALID_PARAMS' },
  params: { code: -32602, status: 400, reason: 'INVALID_PARAMS' },
  noMethod: { code: -32601, status: 404, reason: null },
  contentType: { code: -32005, status: 400, reason: 'CONTENT_TYPE_NOT_SUPPORTED' },
  tooLarge: { code: -32600, status: 413, rpcStatus: 413, reason: 'REQUEST_TOO_LARGE' },
  noRoute: { code: -32601, status: 404, rpcStatus: 404, reason: 'ROUTE_NOT_FOUND' },
  wrongMethod: { code: -32600, status: 405, rpcStatus: 405, reason: 'METHOD_NOT_ALLOWED' },
  noTask: { code: -32001, status: 404, reason: 'TASK_NOT_FOUND' },
  version: { code: -32009, status: 400, reason: 'VERSION_NOT_SUPPORTED' },
} as const satisfies Record<string, Fault>;

/** A request and its answer. Nothing of any row is stored. */
export interface Row {
  readonly name: string;
  readonly form: 'JSON-RPC' | 'JSON-RPC of 0.3' | 'REST' | 'REST of 0.3';
  readonly request: RawRequest;
  /** `'taken'`: the specification or the present behaviour is lenient, and the answer is a result. */
  readonly answer: Fault | 'taken';
}

/** Headers of a client of A2A 1.0. */
export const json = { 'content-type': 'application/json', 'a2a-version': '1.0' };
/** Headers of a client of A2A 0.3. */
export const legacyJson = { 'content-type': 'application/json', 'a2a-version': '0.3' };

/** The text of a JSON-RPC request. */
export function rpcBody(method: string, params?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) });
}

/** A message that would be taken, changed; a field that is undefined is left out. */
export function message(change: object = {}): object {
  return { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'done' }], ...change };
}

/** What a row is made of besides its name. */
export interface Sent {
  readonly answer: Row['answer'];
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string | Buffer;
}

/** A row over JSON-RPC with a body as it is. */
export function rawRpc(name: string, sent: Sent): Row {
  const { answer, headers = json, ...rest } = sent;
  return { name, form: 'JSON-RPC', answer, request: { path: '/a2a/jsonrpc', headers, ...rest } };
}

/** A call over JSON-RPC. */
export function rpc(name: string, call: { method: string; params?: unknown; answer: Row['answer'] }): Row {
  return rawRpc(name, { body: rpcBody(call.method, call.params), answer: call.answer });
}

/** A row of A2A 0.3 over JSON-RPC, whose errors name no reason where the SDK makes them. */
export function rawLegacyRpc(name: string, sent: Sent): Row {
  return { ...rawRpc(name, { headers: legacyJson, ...sent }), form: 'JSON-RPC of 0.3' };
}

/** A call of A2A 0.3 over JSON-RPC. */
export function legacyRpc(
  name: string,
  call: { method: string; params?: unknown; answer: Row['answer'] },
): Row {
  const body = rpcBody(call.method, call.params);
  return rawLegacyRpc(name, { body, answer: call.answer });
}

/** A row over REST. */
export function rest(name: string, sent: Sent & { readonly path: string }): Row {
  const { answer, path, headers = json, ...more } = sent;
  return { name, form: 'REST', answer, request: { path: `/a2a/rest${path}`, headers, ...more } };
}

/** A row over REST in A2A 0.3, whose errors have a form of their own. */
export function legacyRest(name: string, sent: Sent & { readonly path: string }): Row {
  return { ...rest(name, { headers: legacyJson, ...sent }), form: 'REST of 0.3' };
}

/** A request to send a message, over both transports. */
export function sent(name: string, params: unknown, answer: Row['answer']): Row[] {
  return [
    rpc(name, { method: 'SendMessage', params, answer }),
    rest(name, { path: '/message:send', body: JSON.stringify(params), answer }),
  ];
}

/** JSON nested so many levels deep. */
export function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
}
