import { isStorableName } from '@a2a-cluster/core';

/** Who a token stands for. */
export interface Grant {
  readonly token: string;
  readonly user: string;
  /** The only tenant the user has; absent: the tenant `''` only. */
  readonly tenant?: string;
}

/** What {@link parseAuthTokens} found: grants, or sentences about entries that are wrong. Neither shows a token. */
export interface AuthTokens {
  readonly grants: readonly Grant[];
  /** Each completes the sentence `AUTH_TOKENS ...`. */
  readonly problems: readonly string[];
}

/** What a Bearer token may be made of (RFC 6750, 2.1). */
export const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Reads `token=user,token=user@tenant`. A token may end in `=`, and a user may hold `@`: the last `=` parts token
 * and user, the last `@` user and tenant.
 */
export function parseAuthTokens(text: string): AuthTokens {
  const grants: Grant[] = [];
  const problems: string[] = [];
  const seen = new Set<string>();
  text.split(',').forEach((entry, at) => {
    const grant = parseGrant(entry.trimStart());
    const problem =
      typeof grant === 'string' ? grant : seen.has(grant.token) && 'has the token of another entry';
    if (problem) problems.push(`entry ${at + 1} ${problem}`);
    else if (typeof grant !== 'string') {
      seen.add(grant.token);
      grants.push(grant);
    }
  });
  return { grants, problems };
}

function parseGrant(entry: string): Grant | string {
  const equals = entry.lastIndexOf('=');
  if (equals < 1) return 'is not token=user or token=user@tenant';
  const token = entry.slice(0, equals);
  const principal = entry.slice(equals + 1);
  const at = principal.lastIndexOf('@');
  const user = at === -1 ? principal : principal.slice(0, at);
  const tenant = at === -1 ? undefined : principal.slice(at + 1);
  if (!BEARER_TOKEN.test(token)) return 'has a token with characters that a Bearer token cannot have';
  if (user === '' || !isStorableName(user)) return 'has a user that is empty, too long or ends in a space';
  if (tenant === undefined) return { token, user };
  if (tenant === '' || !isStorableName(tenant))
    return 'has a tenant that is empty, too long or ends in a space';
  return { token, user, tenant };
}
