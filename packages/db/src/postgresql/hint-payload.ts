/** What a NOTIFY of ours carries. */
export type HintPayload =
  | { readonly kind: 'hint'; readonly taskIds: readonly string[] }
  /** A listener asks itself whether it hears. */
  | { readonly kind: 'selfTest'; readonly nonce: string };

/** PostgreSQL takes 7 999 bytes; the rest is for the form around the ids. */
const MAX_IDS_BYTES = 7_900;

/** Task ids as JSON arrays, each within PostgreSQL's limit. JSON, because an id may hold any separator. */
export function encodeHints(taskIds: readonly string[]): string[] {
  const payloads: string[] = [];
  let items: string[] = [];
  let bytes = 2;
  for (const taskId of new Set(taskIds)) {
    const item = JSON.stringify(taskId);
    const more = Buffer.byteLength(item, 'utf8') + 1;
    if (bytes + more > MAX_IDS_BYTES && items.length > 0) {
      payloads.push(`[${items.join(',')}]`);
      items = [];
      bytes = 2;
    }
    items.push(item);
    bytes += more;
  }
  if (items.length > 0) payloads.push(`[${items.join(',')}]`);
  return payloads;
}

/** The payload of a self-test. */
export function encodeSelfTest(nonce: string): string {
  return JSON.stringify({ selfTest: nonce });
}

/** What a payload says; null for what is not ours (anybody may NOTIFY on a channel). */
export function decodeHint(payload: string): HintPayload | null {
  let json: unknown;
  try {
    json = JSON.parse(payload);
  } catch {
    return null;
  }
  if (Array.isArray(json)) return { kind: 'hint', taskIds: json.filter((id) => typeof id === 'string') };
  if (typeof json !== 'object' || json === null || !('selfTest' in json)) return null;
  return typeof json.selfTest === 'string' ? { kind: 'selfTest', nonce: json.selfTest } : null;
}
