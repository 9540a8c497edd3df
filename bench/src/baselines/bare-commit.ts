import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';

/** The commit statement as the journal sent it. */
export interface CommitStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Places of the parameters of the commit statement. */
const EXPECTED_VERSION = 1;
const WRITE_IDS = 6;
const PARAMETERS = 13;

/**
 * The commit statement that `work` makes the journal send, so that the bare driver can be given exactly that.
 * @throws Error when there was none, or its parameters are not those that are known here.
 */
export async function captureCommit(work: () => Promise<unknown>): Promise<CommitStatement> {
  const prototype = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const original = prototype.query;
  let found: CommitStatement | null = null;
  prototype.query = function query(this: unknown, ...args: unknown[]): unknown {
    const config = args[0] as Partial<CommitStatement>;
    const { text = '', values = [] } = config;
    if (text.includes('cardinality($5') && text.includes('FOR KEY SHARE'))
      found = { text, values: [...values] };
    return original.apply(this, args);
  };
  try {
    await work();
  } finally {
    prototype.query = original;
  }
  const captured = found as CommitStatement | null;
  if (captured?.values.length !== PARAMETERS || typeof captured.values[EXPECTED_VERSION] !== 'number')
    throw new Error('the commit statement is not the one this benchmark knows');
  return captured;
}

/** Commits one event after the other to one task, through the bare driver. */
export class BareCommitter {
  private version: number;
  private readonly name: string;

  constructor(private readonly commit: CommitStatement) {
    this.version = Number(commit.values[EXPECTED_VERSION]) + 1;
    this.name = `bare_${createHash('sha256').update(commit.text).digest('hex').slice(0, 8)}`;
  }

  /** One statement, prepared, on any connection of the pool. */
  async next(pool: pg.Pool): Promise<void> {
    const values = [...this.commit.values];
    values[EXPECTED_VERSION] = this.version;
    values[WRITE_IDS] = [randomUUID()];
    const { rows } = await pool.query({ name: this.name, text: this.commit.text, values });
    if (rows.length !== 1) throw new Error('the bare commit was refused');
    this.version += 1;
  }
}
