import type { Scope } from '@a2a-cluster/core';
import { isStorableName } from '@a2a-cluster/core';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { resolveUserScope, ServerCallContext, type OwnerResolver } from '@a2a-js/sdk/server';

/**
 * A call context for work without a caller, such as a delivery after a sweep: it carries a stored scope as it is.
 * {@link scopeOf} recognises it. (An owner resolver of the user's cannot be turned round to make a context that
 * resolves to a given owner.)
 */
export class ScopedCallContext extends ServerCallContext {
  readonly scope: Scope;

  constructor(scope: Scope) {
    super({
      tenant: scope.tenant,
      requestedVersion: '1.0',
      user: { isAuthenticated: true, userName: scope.owner },
    });
    this.scope = { tenant: scope.tenant, owner: scope.owner };
  }
}

/**
 * Whose tasks a call may touch: the tenant of the context and the owner that the resolver names; for a
 * {@link ScopedCallContext} its own scope, whatever the resolver says. Not checked: see {@link storableScopeOf}.
 *
 * @param ownerResolver default: the SDK's `resolveUserScope`, the user's name or `'unknown'`.
 */
export function scopeOf(context: ServerCallContext, ownerResolver: OwnerResolver = resolveUserScope): Scope {
  if (context instanceof ScopedCallContext) return context.scope;
  return { tenant: context.tenant ?? '', owner: ownerResolver(context) };
}

/** Whether tasks of this scope can be stored, byte for byte (protocol 1): else every request of it is refused. */
export function isStorableScope(scope: Scope): boolean {
  return isStorableName(scope.tenant) && isStorableName(scope.owner);
}

/**
 * {@link scopeOf}, checked.
 * @throws the SDK's `RequestMalformedError` when the tenant or the principal cannot be stored: too long, with NUL or
 * a lone surrogate, or ending in a space. The message names which of the two, not its value.
 */
export function storableScopeOf(context: ServerCallContext, ownerResolver?: OwnerResolver): Scope {
  const scope = scopeOf(context, ownerResolver);
  if (isStorableScope(scope)) return scope;
  const part = isStorableName(scope.tenant) ? 'principal' : 'tenant';
  throw new RequestMalformedError(`The ${part} of this call cannot own tasks.`);
}
