import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import express from 'express';
import type { RequestHandler, Router } from 'express';
import helmet from 'helmet';
import type { Logger } from '@a2a-cluster/core';
import { noRoute, sendRestProblem, wrongMethod } from '../front/problem.js';

const INDEX = '@a2a-cluster/console/page/index.html';
const UNBUILT = 'The console is not part of this build.';

/** The folder of the built page; undefined: it was not built. */
export function builtPage(): string | undefined {
  const index = fileURLToPath(import.meta.resolve(INDEX));
  return existsSync(index) ? path.dirname(index) : undefined;
}

/** Options of {@link consolePage}. */
export interface ConsolePageOptions {
  /** From {@link builtPage}. */
  readonly folder: string | undefined;
  readonly logger: Logger;
}

/**
 * The page: its files, and `index.html` at every other path, for the page knows its views by their path. It holds no
 * data, so it needs no token. Names of assets change with their contents: those may be kept for ever, the index not.
 */
export function consolePage({ folder, logger }: ConsolePageOptions): Router {
  const router = express.Router();
  router.use(pageHeaders(), onlyReads);
  if (folder === undefined) {
    logger.warn({}, 'the console is not built: run `npm run build`; its API answers all the same');
    return router.use(unbuilt);
  }
  const assets = express.static(path.join(folder, 'assets'), {
    cacheControl: false,
    setHeaders: (res) => res.setHeader('Cache-Control', 'public, max-age=31536000, immutable'),
    index: false,
    redirect: false,
  });
  router.use('/assets', assets, (req, res) =>
    sendRestProblem(req, res, noRoute('There is no such file in this version of the console.')),
  );
  router.use(withSlash, express.static(folder, { index: false, redirect: false, cacheControl: false }));
  router.use((_req, res, next) => {
    res.sendFile('index.html', { root: folder, cacheControl: false }, (error) => error && next(error));
  });
  return router;
}

/** Nothing from elsewhere, nothing inline, no frame. */
function pageHeaders(): RequestHandler {
  const self = ["'self'"];
  const none = ["'none'"];
  const policy = helmet.contentSecurityPolicy({
    useDefaults: false,
    directives: {
      defaultSrc: none,
      ...{ scriptSrc: self, styleSrc: self, connectSrc: self, fontSrc: self },
      imgSrc: ["'self'", 'data:'],
      ...{ baseUri: none, frameAncestors: none, objectSrc: none },
      formAction: self,
    },
  });
  return (req, res, next) => {
    res.setHeader('Cache-Control', 'no-cache');
    policy(req, res, next);
  };
}

const onlyReads: RequestHandler = (req, res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  res.setHeader('Allow', 'GET, HEAD');
  sendRestProblem(req, res, wrongMethod('This path knows other methods only.'));
};

/** The page's own links are below `/console/`. */
const withSlash: RequestHandler = (req, res, next) => {
  const [at = '', query] = req.originalUrl.split('?', 2);
  if (req.path !== '/' || at.endsWith('/')) return next();
  res.redirect(302, `${req.baseUrl}/${query === undefined ? '' : `?${query}`}`);
};

const unbuilt: RequestHandler = (_req, res) => {
  res.status(503).type('html').send(`<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>${UNBUILT}</title></head>
  <body>
    <h1>${UNBUILT}</h1>
    <p>Run <code>npm run build</code> where this server was installed from, and start it again.</p>
  </body>
</html>
`);
};
