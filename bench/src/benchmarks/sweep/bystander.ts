import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '@a2a-cluster/db';
import { nowMs, timeMs } from '../../harness/time.js';

/** A turn of the living: it commits one event after the other on the connections of the replica that sweeps. */
export interface Bystander {
  /** How long each commit took while `work` ran, in milliseconds. */
  during(work: () => Promise<unknown>): Promise<readonly number[]>;
}

const TURN = {
  holder: 'replica-alive',
  epoch: 1,
  state: null,
  statusTimestamp: null,
  snapshot: null,
} as const;
const SCOPE = { tenant: '', owner: 'bench' };

/** Opens a new turn each time: the tables are emptied in between. */
export function createBystander(database: Database): Bystander {
  let turns = 0;
  return {
    during: async (work) => {
      turns += 1;
      const taskId = `alive-${turns}`;
      const created = await database.journal.createTask({
        ...TURN,
        ...{ taskId, scope: SCOPE, contextId: taskId, ttlMs: 600_000, terminal: false, clearsPending: true },
        state: 'TASK_STATE_WORKING',
        events: [{ kind: 'task', payload: '{}', writeId: `${taskId}-1` }],
      });
      if (!created.ok) throw new Error(`${taskId} exists`);
      const ended = { at: null as number | null };
      const working = work().finally(() => (ended.at = nowMs()));
      const samples: number[] = [];
      for (let version = 1; ended.at === null; version += 1) {
        samples.push(await timeMs(() => commit(database, { taskId, version })));
        await pause(1);
      }
      await working;
      await database.leases.release({ taskId, holder: TURN.holder, epoch: TURN.epoch });
      return samples;
    },
  };
}

async function commit(
  database: Database,
  { taskId, version }: { readonly taskId: string; readonly version: number },
): Promise<void> {
  const outcome = await database.journal.commit({
    ...TURN,
    ...{ taskId, expectedVersion: version, terminal: false, clearsPending: false },
    events: [
      { kind: 'artifactUpdate', payload: '{"text":"lorem ipsum"}', writeId: `${taskId}-${version + 1}` },
    ],
  });
  if (!outcome.ok) throw new Error(`the commit of ${taskId} at ${version} was refused`);
}
