/** Whose task: every query of a caller is scoped by both, byte for byte. */
export interface Scope {
  /** `''` where the server has no tenants. */
  readonly tenant: string;
  /** The principal the task belongs to, as the owner resolver names it. */
  readonly owner: string;
}

/** The longest id, tenant or owner in UTF-8 bytes: what every database's key columns hold. */
export const MAX_KEY_BYTES = 191;

/**
 * Whether a string can be the id of a stored task (protocol 1). One that cannot is simply not found, before any
 * SQL: longer than {@link MAX_KEY_BYTES}, empty, with NUL or a lone surrogate, or ending in a space (which some
 * collations ignore, so it would read another row).
 */
export function isStorableKey(value: string): boolean {
  return value !== '' && isStorableName(value);
}

/** Like {@link isStorableKey}, and the empty string is allowed: the rule for tenants and owners. */
export function isStorableName(value: string): boolean {
  if (value.endsWith(' ') || value.includes('\u0000')) return false;
  return value.isWellFormed() && Buffer.byteLength(value, 'utf8') <= MAX_KEY_BYTES;
}

/** Whether two scopes are the same, byte for byte. */
export function sameScope(a: Scope, b: Scope): boolean {
  return a.tenant === b.tenant && a.owner === b.owner;
}
