import type { RequestHandler, Response } from 'express';
import { forbidden, noRoute, sendRestProblem, unauthenticated } from '../front/problem.js';
import type { ConsoleAccess, Visitor } from './access.js';
import { foreignOrigin, isLoopbackHost } from './same-origin.js';

const VISITOR = 'consoleVisitor';

/** The page holds no data: it is there for everybody, or, where the console is closed, for nobody. */
export function pageDoor({ closed }: ConsoleAccess): RequestHandler {
  return (req, res, next) =>
    closed ? sendRestProblem(req, res, noRoute('There is nothing at this path.')) : next();
}

/** Lets in who may look, and remembers who it is. */
export function lookDoor(access: ConsoleAccess): RequestHandler {
  return (req, res, next) => {
    if (access.loopbackOnly && !isLoopbackHost(req.headers.host))
      return sendRestProblem(
        req,
        res,
        forbidden(
          'Without a token the console answers on this machine only, as localhost. Set CONSOLE_TOKEN or ' +
            'OPERATOR_TOKEN to use it by another name.',
        ),
      );
    const visitor = access.visitorOf(req);
    if (visitor === undefined) {
      res.setHeader('WWW-Authenticate', 'Bearer');
      const message = 'The Bearer token of the console, or of the operator, is needed.';
      return sendRestProblem(req, res, unauthenticated(message));
    }
    res.locals[VISITOR] = visitor;
    next();
  };
}

/** Lets in who may act, from the console's own page or a tool, not from another site. */
export const actDoor: RequestHandler = (req, res, next) => {
  const foreign = foreignOrigin(req);
  if (foreign !== undefined) return sendRestProblem(req, res, forbidden(foreign));
  if (visitorOf(res).mayAct) return next();
  const message = 'This token may look but not act. To act, come with the CONSOLE_TOKEN.';
  sendRestProblem(req, res, forbidden(message));
};

/** Who was let in. */
export function visitorOf(res: Response): Visitor {
  return res.locals[VISITOR] as Visitor;
}
