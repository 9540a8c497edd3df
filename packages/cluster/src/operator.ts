import { FAILURE_TEXT, isStorableKey, sleep, type Clock, type LeaseListing } from '@a2a-cluster/core';
import type { Database, Look } from '@a2a-cluster/db';
import type { PushDelivery } from '@a2a-cluster/push-notifications';
import type { Journal } from '@a2a-cluster/task-store';
import { createPushOperator, type PushOperator } from './operator-push.js';
import { createReplicaOperator } from './operator-replicas.js';
import { createTaskOperator, type TaskOperatorParts } from './operator-tasks.js';
import type { ReplicaOperator, TaskOperator } from './operator-views.js';
import type { ReplicaBoard } from './replica-board.js';

/** What an operator may ask and do; not scoped by owner, so never for callers. */
export interface ClusterOperator {
  /** Leases, the earliest to expire first. */
  leases(options?: { readonly limit?: number }): Promise<readonly LeaseListing[]>;
  readonly tasks: TaskOperator;
  readonly replicas: ReplicaOperator;
  /**
   * Lets the task's lease expire now and gives the sweeper's verdict on it (protocol 10): `failed` the task was
   * ended, `dropped` only the lease went, `not_found` there was no lease, `busy` somebody holds its row: ask again.
   */
  releaseLease(taskId: string): Promise<'failed' | 'dropped' | 'not_found' | 'busy'>;
  readonly push: PushOperator;
}

/** Rows an operator is shown when no limit is named. */
const DEFAULT_LIMIT = 100;

/** How many leases without a task are dropped along with the one that was named. */
const ORPHAN_LIMIT = 100;

/** How often a release is tried whose lease its holder renews meanwhile. */
const MOST_TRIES = 5;
const PAUSE_MS = 20;

/** Nothing was swept here: another sweeper was faster, or the row is locked or was renewed meanwhile. */
function whatBecame(look: Look | null): 'failed' | 'dropped' | 'busy' {
  if (look?.lease) return 'busy';
  return look?.state === 'TASK_STATE_FAILED' ? 'failed' : 'dropped';
}

/** Makes the operator's part. */
export function createOperator(
  parts: TaskOperatorParts & {
    readonly database: Database;
    readonly board: Pick<ReplicaBoard, 'known'>;
    readonly delivery: Pick<PushDelivery, 'asked'> | null;
    readonly journal: Journal;
    readonly holder: string;
    readonly clock: Clock;
  },
): ClusterOperator {
  const { database } = parts;
  return {
    push: createPushOperator({ database, delivery: parts.delivery }),
    tasks: createTaskOperator(parts),
    replicas: createReplicaOperator(database, parts.board),
    leases: (options) => database.leases.listLeases(options?.limit ?? DEFAULT_LIMIT),
    releaseLease: async (taskId) => (isStorableKey(taskId) ? release({ ...parts, taskId }) : 'not_found'),
  };
}

type Released = Awaited<ReturnType<ClusterOperator['releaseLease']>>;

interface Release {
  readonly database: Pick<Database, 'leases' | 'journal'>;
  readonly journal: Journal;
  readonly holder: string;
  readonly clock: Clock;
  readonly taskId: string;
}

/**
 * The holder may live, and its heartbeat may renew the lease between the two statements: then both are tried again, as
 * long as it is the lease of the same turn.
 */
async function release(parts: Release): Promise<Released> {
  const { database, clock, taskId } = parts;
  const look = (): Promise<Look | null> => database.journal.look({ taskId });
  const epoch = (await look())?.lease?.epoch;
  for (let tries = 1; ; tries += 1) {
    if (!(await database.leases.expireNow(taskId)))
      return tries === 1 ? 'not_found' : whatBecame(await look());
    const verdict = await sweepNow(parts);
    if (verdict !== null) return verdict;
    const seen = await look();
    const became = whatBecame(seen);
    if (became !== 'busy' || seen?.lease?.epoch !== epoch || tries === MOST_TRIES) return became;
    await sleep({ clock, delayMs: tries * PAUSE_MS });
  }
}

/** The sweeper's verdict on an expired lease; null where it is not this sweeper that took it. */
async function sweepNow({ journal, holder, clock, taskId }: Release): Promise<'failed' | 'dropped' | null> {
  const { swept } = await journal.sweep({
    limit: 1,
    sweeper: holder,
    statusTimestamp: clock.wallIso(),
    text: FAILURE_TEXT.replica_lost,
    taskId,
  });
  if (swept[0]) return swept[0].failed ? 'failed' : 'dropped';
  const orphans = await journal.sweepOrphans(ORPHAN_LIMIT);
  return orphans.includes(taskId) ? 'dropped' : null;
}
