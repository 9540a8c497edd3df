import { TaskNotFoundError } from '@a2a-js/sdk/errors';
import type { CallHooks } from './around-calls.js';
import { isPrincipal } from './auth/principal.js';

/**
 * Keeps a principal in the one tenant it has: a call that names another, in the path or in the parameters, gets
 * TaskNotFound, a call that names none is in the principal's own. Without authentication it changes nothing.
 */
export const admitToTenant: CallHooks['admit'] = (params, context) => {
  if (!isPrincipal(context.user)) return params;
  const { tenant } = context.user;
  const named = [context.tenant, params.tenant].filter((name) => name);
  if (named.some((name) => name !== tenant)) throw new TaskNotFoundError();
  if (context.tenant === undefined && tenant !== '') context.setTenant(tenant);
  return { ...params, tenant };
};
