import type { WireError } from '../history/history.js';

/** A JSON-RPC error as it stands on the wire. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly { readonly metadata?: Readonly<Record<string, string>> }[];
}

/** The error of an answer, with what its ErrorInfo says. */
export function wireError(error: RpcError): WireError {
  const infos = Array.isArray(error.data) ? error.data : [];
  const { reason, retryAfterMs } = Object.assign({}, ...infos.map((info) => info.metadata ?? {})) as {
    readonly reason?: string;
    readonly retryAfterMs?: string;
  };
  return {
    code: error.code,
    message: error.message,
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}
