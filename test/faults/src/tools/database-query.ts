import { openRaw } from '@a2a-cluster/testing';

/** Runs statements one after another by a connection of its own, and answers the rows of the last one. */
export async function queryDatabase(
  url: string,
  ...statements: readonly string[]
): Promise<Record<string, unknown>[]> {
  const raw = await openRaw(url);
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = await raw.query(statement);
    return rows;
  } finally {
    await raw.close();
  }
}
