import { ClusterError } from '@a2a-cluster/core';

/** One statement and its parameters, escaped by the driver when it is sent. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Room for the SQL itself, numbers, and the protocol's own bytes. */
const OVERHEAD_BYTES = 1_024;

/** `statement` with the form of a tagged list: `statement('.. = ?', a)`. */
export function statement(sql: string, ...values: readonly unknown[]): Statement {
  return { sql, values };
}

/** Several statements as one text. The server stops it at its first error, so a COMMIT at its end is not reached. */
export function joinStatements(statements: readonly Statement[]): Statement {
  return {
    sql: statements.map(({ sql }) => sql).join(';\n'),
    values: statements.flatMap(({ values }) => values),
  };
}

/** Bytes that a statement takes when it is sent, counting what the driver escapes; never too few. */
export function sizeOf({ sql, values }: Statement): number {
  return values.reduce<number>((sum, value) => sum + valueBytes(value), OVERHEAD_BYTES + sql.length);
}

function valueBytes(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + valueBytes(item), 0);
  if (typeof value !== 'string') return 24;
  return Buffer.byteLength(value, 'utf8') + (value.match(/[\0'"\\]/g)?.length ?? 0) + 3;
}

/**
 * Groups statements, in order, into texts that the server takes.
 * @throws `ClusterError` `EVENT_TOO_LARGE` when one statement alone is too long: nothing was sent then.
 */
export function packStatements(
  statements: readonly Statement[],
  maxPacketBytes: number,
): readonly Statement[] {
  const texts: Statement[][] = [[]];
  let bytes = 0;
  for (const next of statements) {
    const size = sizeOf(next);
    if (size > maxPacketBytes) {
      const message = `a write of ${size} bytes is longer than max_allowed_packet (${maxPacketBytes})`;
      throw new ClusterError('EVENT_TOO_LARGE', message, { details: { size, maxPacketBytes } });
    }
    if (bytes > 0 && bytes + size > maxPacketBytes) {
      texts.push([]);
      bytes = 0;
    }
    texts.at(-1)?.push(next);
    bytes += size;
  }
  return texts.map(joinStatements);
}
