import { legacyRestPushConfig, legacyRestSendMessage } from './legacy-shapes.js';
import { createPushConfig, sendMessage, type Shape } from './shapes.js';

/** A path of the REST transport, and what may be sent to it. */
export interface RestRoute {
  /** The body each method takes; undefined: the method takes none. */
  readonly methods: Readonly<Record<string, Shape | undefined>>;
  /** What the path names, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

interface RoutePattern {
  readonly pattern: RegExp;
  readonly methods: RestRoute['methods'];
}

const CONFIGS = 'tasks/(?<taskId>[^/]+)/pushNotificationConfigs';

const routes: readonly RoutePattern[] = [
  route('message:send', { POST: sendMessage }),
  route('message:stream', { POST: sendMessage }),
  route('tasks', { GET: undefined }),
  route('tasks/(?<taskId>[^/]+):subscribe', { GET: undefined, POST: undefined }),
  route('tasks/(?<taskId>[^/]+):cancel', { POST: undefined }),
  route('tasks/(?<taskId>[^/]+)', { GET: undefined }),
  route(CONFIGS, { GET: undefined, POST: createPushConfig }),
  route(`${CONFIGS}/(?<configId>[^/]+)`, { GET: undefined, DELETE: undefined }),
  route('extendedAgentCard', { GET: undefined }),
];

const legacyRoutes: readonly RoutePattern[] = [
  route('message:send', { POST: legacyRestSendMessage }),
  route('message:stream', { POST: legacyRestSendMessage }),
  route('tasks/(?<taskId>[^/]+):subscribe', { GET: undefined, POST: undefined }),
  route('tasks/(?<taskId>[^/]+):cancel', { POST: undefined }),
  route('tasks/(?<taskId>[^/]+)', { GET: undefined }),
  route(CONFIGS, { GET: undefined, POST: legacyRestPushConfig }),
  route(`${CONFIGS}/(?<configId>[^/]+)`, { GET: undefined, DELETE: undefined }),
  route('card', { GET: undefined }),
];

/**
 * What a path below the mount point means, or undefined when nothing is there. Every path of A2A 1.0 is also there
 * with a tenant before it; those of 0.3 are below `/v1`.
 * @throws URIError when the path has a broken percent escape.
 */
export function findRoute(path: string, legacy: boolean): RestRoute | undefined {
  if (legacy) {
    const found = match(legacyRoutes, path, /^\/v1\//);
    if (found !== undefined) return found;
  }
  return match(routes, path, /^\//) ?? match(routes, path, /^\/(?<tenant>[^/]+)\//);
}

function match(patterns: readonly RoutePattern[], path: string, mount: RegExp): RestRoute | undefined {
  const head = mount.exec(path);
  if (head === null) return undefined;
  const rest = path.slice(head[0].length);
  for (const { pattern, methods } of patterns) {
    const found = pattern.exec(rest);
    if (found !== null) return { methods, params: decoded({ ...head.groups, ...found.groups }) };
  }
  return undefined;
}

/** As the router of the SDK's handler reads a path: in any case of letters, with or without a slash at the end. */
function route(path: string, methods: RestRoute['methods']): RoutePattern {
  return { pattern: new RegExp(`^${path}/?$`, 'i'), methods };
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]));
}
