import type { RequestHandler } from 'express';
import { withTraceOf } from '@a2a-cluster/core';

/**
 * Answers a request in the trace that its `traceparent` names, where tracing is on and nobody has done it before us (the
 * HTTP instrumentation of OpenTelemetry does). With tracing off it costs one look.
 */
export function traceRequests(): RequestHandler {
  return (req, _res, next) => withTraceOf(req.headers, next);
}
