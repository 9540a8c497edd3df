import type { User } from '@a2a-js/sdk/server';

/** Somebody whose token was valid, and the one tenant they may act in. */
export interface Principal extends User {
  /** `''`: the tenant without a name. */
  readonly tenant: string;
}

/** Whether a user of the SDK's is a principal of ours. */
export function isPrincipal(user: User | undefined): user is Principal {
  return user !== undefined && user.isAuthenticated && 'tenant' in user && typeof user.tenant === 'string';
}
