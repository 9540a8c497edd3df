import { signal } from '@preact/signals';

const KEY = 'a2a-cluster.console.token';

/** The operator's token; `null`: none was given. Kept by the browser until this tab is closed, and in no cookie. */
export const token = signal<string | null>(sessionStorage.getItem(KEY));

/** Why a token is asked for; `null`: it is not. */
export const tokenWanted = signal<'missing' | 'refused' | null>(null);

/** Grows with each token, so that what was refused is asked for again. */
export const sessionNumber = signal(0);

/** Takes a token, or forgets it. */
export function setToken(next: string | null): void {
  if (next === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, next);
  token.value = next;
  tokenWanted.value = null;
  sessionNumber.value += 1;
}

/** A replica answered 401. */
export function tokenRefused(): void {
  tokenWanted.value = token.peek() === null ? 'missing' : 'refused';
}

/** The headers that carry the token. */
export function tokenHeaders(): Record<string, string> {
  const value = token.peek();
  return value === null ? {} : { authorization: `Bearer ${value}` };
}
