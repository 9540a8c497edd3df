import type { RequestHandler } from 'express';
import helmet from 'helmet';

/**
 * Headers against what browsers do with answers. No transport security: that is for the proxy that has the
 * certificate, which alone knows whether all of the host is behind it. No content policy: see {@link apiHeaders}.
 */
export function securityHeaders(): RequestHandler {
  return helmet({ contentSecurityPolicy: false, strictTransportSecurity: false });
}

/**
 * Headers of routes that answer programs: nothing in an answer is to be run or shown in a frame, and no cache keeps
 * it. A stream replaces the latter by its own.
 */
export function apiHeaders(): RequestHandler {
  const policy = helmet.contentSecurityPolicy({
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  });
  return (req, res, next) => {
    res.setHeader('Cache-Control', 'no-store');
    policy(req, res, next);
  };
}
