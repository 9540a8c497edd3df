import { beforeEach, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createTally, FAILURE_TEXT, type HistogramName, type Tally } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { Scene } from './journal-contract/scene.js';

const { TASK_STATE_WORKING, TASK_STATE_CANCELED } = TaskState;

describe('what a journal tells of', () => {
  let tally: Tally;
  let observed: [HistogramName, number][];
  let scene: Scene;

  beforeEach(async () => {
    observed = [];
    tally = createTally({ count: () => {}, observe: (name, value) => observed.push([name, value]) });
    scene = new Scene(createMemoryDatabase(), { telemetry: tally });
    await scene.create();
  });

  const late = (): number => tally.total('late_writes_refused_total');

  test('the time and the events of what is stored, the first events of a task included', async () => {
    await scene.commit(TASK_STATE_WORKING);
    expect(observed.map(([name]) => name)).toEqual([
      ...['commit_seconds', 'commit_events'],
      ...['commit_seconds', 'commit_events'],
    ]);
    expect(observed[3]).toEqual(['commit_events', 1]);
    expect(observed[2]?.[1]).toBeGreaterThanOrEqual(0);
    expect(late()).toBe(0);
  });

  test('a write under a lease that is gone, and no time for it', async () => {
    await scene.database.leases.release({ taskId: scene.taskId, ...{ epoch: 1, holder: 'replica-a' } });
    observed.length = 0;
    expect(await scene.commit(TASK_STATE_WORKING)).toEqual({ ok: false, refusal: 'lease_lost' });
    expect([late(), observed]).toEqual([1, []]);
  });

  test.each(['look', 'commit'])(
    'a write whose writer learns of its loss by somebody else while its %s is under way',
    async (statement) => {
      await scene.database.leases.release({ taskId: scene.taskId, ...{ epoch: 1, holder: 'replica-a' } });
      const lost = new AbortController();
      scene.faulty.next(statement, 'frozen');
      const written = scene.commit(TASK_STATE_WORKING, { authority: scene.authority({ lost: lost.signal }) });
      while (scene.faulty.calls(statement) === 0) await new Promise(setImmediate);
      lost.abort();
      expect(await written).toEqual({ ok: false, refusal: 'lease_lost' });
      scene.faulty.thaw();
      await new Promise(setImmediate);
      expect(late()).toBe(1);
    },
  );

  test('nobody is late whose task was cancelled by somebody else meanwhile', async () => {
    await scene.cancel(1);
    expect(await scene.commit(TASK_STATE_CANCELED)).toMatchObject({ refusal: 'terminal' });
    expect(late()).toBe(0);
    expect(await scene.commit(TASK_STATE_WORKING)).toMatchObject({ refusal: 'terminal' });
    expect(late()).toBe(1);
  });

  test('what it swept, and how long after the expiry', async () => {
    await scene.database.leases.expireNow(scene.taskId);
    const batch = { limit: 5, sweeper: 'b', statusTimestamp: '2026-01-01T00:00:00Z' };
    await scene.journal.sweep({ ...batch, text: FAILURE_TEXT.replica_lost });
    expect(tally.total('leases_swept_total', { verdict: 'failed' })).toBe(1);
    expect(observed.at(-1)).toEqual(['sweep_lag_seconds', expect.any(Number)]);
  });
});
