import { legacyRpcShapes } from './legacy-shapes.js';
import { rpcShapes } from './shapes.js';

/** Methods that take no parameters worth a check. */
const UNCHECKED: ReadonlySet<unknown> = new Set([
  'GetExtendedAgentCard',
  'agent/getAuthenticatedExtendedCard',
]);

/** Whether a text is a JSON-RPC method of A2A 1.0 or 0.3, and not just anything a client sent. */
export function isRpcMethod(method: unknown): method is string {
  if (UNCHECKED.has(method)) return true;
  return typeof method === 'string' && (rpcShapes.has(method) || legacyRpcShapes.has(method));
}
