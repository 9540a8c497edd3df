import { randomUUID } from 'node:crypto';
import { startCapture, type SentStatement } from '@a2a-cluster/testing';
import type pg from 'pg';

/** The commit statement as the journal sent it. */
export type CommitStatement = Pick<SentStatement, 'sql' | 'values'>;

/** Places of the parameters of the commit statement. */
const EXPECTED_VERSION = 1;
const WRITE_IDS = 6;
const PARAMETERS = 13;

/**
 * The commit statement that `work` makes the journal send, so that the bare driver can be given exactly that.
 * @throws Error when there was none, or its parameters are not those that are known here.
 */
export async function captureCommit(work: () => Promise<unknown>): Promise<CommitStatement> {
  const capture = startCapture('postgresql');
  try {
    await work();
  } finally {
    capture.stop();
  }
  const isCommit = ({ sql }: SentStatement): boolean =>
    sql.includes('cardinality($5') && sql.includes('FOR KEY SHARE');
  const commit = capture.take().find(isCommit);
  if (commit?.values.length !== PARAMETERS || typeof commit.values[EXPECTED_VERSION] !== 'number')
    throw new Error('the commit statement is not the one this benchmark knows');
  return commit;
}

/** Commits one event after the other to one task, through the bare driver. */
export class BareCommitter {
  private version: number;

  constructor(private readonly commit: CommitStatement) {
    this.version = Number(commit.values[EXPECTED_VERSION]) + 1;
  }

  /** One statement, prepared, on any connection of the pool. */
  async next(pool: pg.Pool): Promise<void> {
    const values = [...this.commit.values];
    values[EXPECTED_VERSION] = this.version;
    values[WRITE_IDS] = [randomUUID()];
    const { rows } = await pool.query({ name: 'bare_commit', text: this.commit.sql, values });
    if (rows.length !== 1) throw new Error('the bare commit was refused');
    this.version += 1;
  }
}
