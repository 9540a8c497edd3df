import type { Scope } from '@a2a-cluster/core';
import { isStorableName } from '@a2a-cluster/core';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { resolveUserScope, type OwnerResolver, type ServerCallContext } from '@a2a-js/sdk/server';

/**
 * Whose tasks a call may touch: the tenant of the context and the owner that the resolver names.
 * Not checked: see {@link storableScopeOf}.
 *
 * @param ownerResolver default: the SDK's `resolveUserScope`, the user's name or `'unknown'`.
 */
export function scopeOf(context: ServerCallContext, ownerResolver: OwnerResolver = resolveUserScope): Scope {
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
