import type { Look } from '../../statements/journal-statements.js';
import type { Statement } from '../statement.js';
import { ageMs, remainingMs } from './conditions.js';

/** The columns of a task `t` and its lease `x`, as {@link LookRow} has them. */
export const LOOK_COLUMNS = `t.tenant, t.owner, t.context_id, t.state, t.version,
       x.holder AS lease_holder, x.epoch AS lease_epoch, x.pending, ${remainingMs('x.expires_at')} AS remaining_ms,
       ${ageMs('x.cancel_requested_at')} AS cancel_age_ms`;

/** `$1` task, `$2` tenant and `$3` owner, both null for "any": who asks is the sweeper or an operator then. */
export const SCOPED_TASK = `t.id = $1 AND ($2::text IS NULL OR (t.tenant = $2 AND t.owner = $3))`;

/** What there is now: a statement of its own, so that its snapshot is fresh. */
export const look: Statement = {
  name: 'look',
  writes: false,
  text: `SELECT ${LOOK_COLUMNS}
  FROM tasks t LEFT JOIN task_leases x ON x.task_id = t.id WHERE ${SCOPED_TASK}`,
};

/** Whether (task, seq) carries this write id (protocol 3.6). */
export const findOwnWrite: Statement = {
  name: 'findOwnWrite',
  writes: false,
  text: `SELECT 1 AS found FROM task_events WHERE task_id = $1 AND seq = $2::int AND write_id = $3`,
};

/** A row of {@link look}; the lease's columns are null together. */
export interface LookRow {
  readonly tenant: string;
  readonly owner: string;
  readonly context_id: string;
  readonly state: string;
  readonly version: number;
  readonly lease_holder: string | null;
  readonly lease_epoch: number | null;
  readonly pending: boolean | null;
  readonly remaining_ms: number | null;
  readonly cancel_age_ms: number | null;
}

/** The row as the contract has it. */
export function toLook(row: LookRow): Look {
  return {
    scope: { tenant: row.tenant, owner: row.owner },
    contextId: row.context_id,
    state: row.state,
    version: row.version,
    lease: leaseOf(row),
  };
}

function leaseOf(row: LookRow): Look['lease'] {
  if (row.lease_holder === null) return null;
  return {
    holder: row.lease_holder,
    epoch: row.lease_epoch ?? 0,
    pending: row.pending ?? false,
    remainingMs: row.remaining_ms ?? 0,
    cancelAgeMs: row.cancel_age_ms,
  };
}
