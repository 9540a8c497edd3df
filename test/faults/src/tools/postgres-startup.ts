/** What a connection is for: hints (LISTEN), or anything else; `unknown` until its client has said who it is. */
export type ConnectionKind = 'unknown' | 'listen' | 'other';

const PROTOCOL_3 = 196_608;
/** Requests for TLS and for GSS encryption, of 8 bytes; the start-up message follows. */
const ENCRYPTION = new Set([80_877_103, 80_877_104]);
const HINTS = 'a2a-cluster hints';
const HEADER_BYTES = 8;

/**
 * Tells LISTEN connections of PostgreSQL from others by what their client says: the `application_name` of its
 * start-up message (`a2a-cluster hints`), or a LISTEN statement where that was not sent. Encrypted connections, and
 * those of other databases, count as `other`.
 */
export function createClassifier(): (chunk: Buffer) => ConnectionKind {
  let kind: ConnectionKind = 'unknown';
  let start = Buffer.alloc(0);
  return (chunk) => {
    if (kind === 'listen') return kind;
    if (kind === 'other') return (kind = says(chunk) ? 'listen' : 'other');
    start = Buffer.concat([start, chunk]);
    if (start.length >= HEADER_BYTES && ENCRYPTION.has(start.readInt32BE(4)))
      start = start.subarray(HEADER_BYTES);
    if (start.length < HEADER_BYTES) return kind;
    if (start.readInt32BE(4) !== PROTOCOL_3) return (kind = 'other');
    if (start.length < start.readInt32BE(0)) return kind;
    return (kind = applicationName(start) === HINTS ? 'listen' : 'other');
  };
}

function says(chunk: Buffer): boolean {
  return /(^|[\0;\s])LISTEN\s+["a-z]/i.test(chunk.toString('latin1'));
}

function applicationName(startup: Buffer): string | undefined {
  const words = startup.toString('utf8', HEADER_BYTES, startup.readInt32BE(0)).split('\0');
  for (let index = 0; index + 1 < words.length; index += 2)
    if (words[index] === 'application_name') return words[index + 1];
  return undefined;
}
