import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { Journal } from '../../src/index.js';
import { emptyTask } from '../support.js';
import { HOLDER, scope, Scene } from './scene.js';

/** Every verb, and what refuses it. */
export function describeWrites(scene: () => Scene): void {
  describe('writes', () => {
    test('store a new task with its lease and tell of it once, with the head', async () => {
      const { create, taskId } = bound(scene());
      expect(await create()).toMatchObject({ ok: true, version: 1, sentAtMs: expect.any(Number) });
      expect(await scene().log()).toEqual(['task/1']);
      expect(scene().heard).toMatchObject([
        {
          taskId,
          scope,
          rows: [{ seq: 1, kind: 'task', holder: HOLDER, epoch: 1, messageId: 'first message' }],
          head: { taskId, version: 1, state: 'TASK_STATE_SUBMITTED', lease: { holder: HOLDER, epoch: 1 } },
        },
      ]);
    });

    test('do not touch a task of the same id, and tell nothing', async () => {
      await scene().create();
      scene().heard.length = 0;
      expect(await scene().create()).toEqual({ ok: false, refusal: 'conflict' });
      expect(scene().told()).toEqual([]);
    });

    test('move the task on, and drop the lease with a terminal event', async () => {
      await scene().create();
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      const ended = await scene().commit(TaskState.TASK_STATE_COMPLETED, { expectedVersion: 2 });
      expect(ended).toMatchObject({ ok: true, version: 3 });
      expect(await scene().look()).toMatchObject({ state: 'TASK_STATE_COMPLETED', version: 3, lease: null });
      expect(scene().heard.map(({ head }) => head.lease?.epoch ?? null)).toEqual([1, 1, null]);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1', '3:statusUpdate/1']);
    });

    test.each([
      ['terminal', TaskState.TASK_STATE_COMPLETED, {}],
      ['lease_lost', TaskState.TASK_STATE_WORKING, { epoch: 7 }],
      ['lease_lost', TaskState.TASK_STATE_WORKING, { holder: 'replica-b' }],
      ['gone', TaskState.TASK_STATE_WORKING, { taskId: 'no-such-task' }],
    ])('are refused with %s, stored nowhere and told to nobody', async (refusal, before, authority) => {
      await scene().create();
      await scene().commit(before);
      scene().heard.length = 0;
      const rows = await scene().log();
      const refused = await scene().commit(TaskState.TASK_STATE_WORKING, {
        authority: scene().authority(authority),
        expectedVersion: 2,
      });
      expect(refused).toEqual({ ok: false, refusal });
      expect(await scene().log()).toEqual(rows);
      expect(scene().told()).toEqual([]);
    });

    test('are refused with conflict when somebody else has written', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_WORKING);
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toEqual({ ok: false, refusal: 'conflict' });
    });

    test('of a holder whose unswept lease has expired renew it and go on', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      expect((await scene().look())?.lease?.remainingMs).toBeGreaterThan(0);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('are lost when the renewal says so', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const authority = scene().authority({ renewNow: async () => 'lost' });
      const refused = await scene().commit(TaskState.TASK_STATE_WORKING, { authority });
      expect(refused).toEqual({ ok: false, refusal: 'lease_lost' });
    });

    test("adopt the user's messages of their own turn, without telling of them again or writing a snapshot", async () => {
      await scene().park();
      await scene().open('m2');
      scene().heard.length = 0;
      const done = await scene().commit(TaskState.TASK_STATE_WORKING, {
        authority: scene().authority({ epoch: 3 }),
        expectedVersion: 2,
        snapshot: JSON.stringify(emptyTask(scene().taskId)),
      });
      expect(done).toMatchObject({ ok: true, version: 4, adopted: [{ seq: 3, kind: 'message', epoch: 3 }] });
      expect(scene().told()).toEqual(['4:statusUpdate/3']);
      const stored = await scene().database.log.readTask({ taskId: scene().taskId });
      expect(stored?.snapshot).toBeNull();
    });

    test('cancel at the version that was seen, and at no other', async () => {
      await scene().create();
      expect(await scene().cancel(2)).toEqual({ ok: false });
      expect(await scene().cancel(1)).toEqual({ ok: true, version: 2 });
      expect(await scene().look()).toMatchObject({ state: 'TASK_STATE_CANCELED', lease: null });
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('of a sweep end a dead turn once, tell of it, and only drop the lease of a parked one', async () => {
      const batch = { limit: 10, sweeper: 'sweeper', statusTimestamp: '2026-01-01T00:00:00Z', text: 'lost' };
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const parked = new Scene(scene().database);
      await parked.create();
      await parked.commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await parked.database.leases.expireNow(parked.taskId);
      scene().heard.length = 0;
      await Promise.all([
        scene().journal.sweep({ ...batch, taskId: scene().taskId }),
        scene().journal.sweep({ ...batch, taskId: scene().taskId }),
        scene().journal.sweep({ ...batch, taskId: parked.taskId }),
      ]);
      expect(scene().told()).toEqual(['2:statusUpdate/1']);
      expect(scene().heard[0]?.rows[0]?.holder).toBe('sweeper');
      expect(scene().heard[0]?.head).toMatchObject({ state: 'TASK_STATE_FAILED', lease: null });
      expect(await parked.look()).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        version: 2,
        lease: null,
      });
    });
  });
}

function bound(scene: Scene): {
  readonly create: () => ReturnType<Journal['create']>;
  readonly taskId: string;
} {
  return { create: () => scene.create(), taskId: scene.taskId };
}
