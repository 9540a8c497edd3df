import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { Journal } from '../../src/index.js';
import type { Scene } from './scene.js';

/** Follow-ups. */
export function describeOpenings(scene: () => Scene): void {
  describe('an opening', () => {
    test('is a duplicate when its message is in the log, whoever wrote it', async () => {
      await scene().park();
      await scene().open('m2');
      expect(await scene().open('m2')).toMatchObject({ ok: false, refusal: 'duplicate', epoch: 3, seq: 3 });
      expect(await scene().open('first message')).toMatchObject({
        ok: false,
        refusal: 'duplicate',
        epoch: 1,
      });
    });

    test('of a task whose turn was abandoned ends that turn first, and is answered as for an ended task', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2')).toMatchObject({ refusal: 'terminal', state: 'TASK_STATE_FAILED' });
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('ends nothing and takes nothing over unless it is asked to', async () => {
      await scene().create();
      await scene().database.leases.expireNow(scene().taskId);
      const open = (): ReturnType<Journal['openTurn']> => scene().open('m2', { takeOver: false });
      expect(await open()).toMatchObject({ refusal: 'abandoned', epoch: 1 });
      expect(await scene().log()).toEqual(['task/1']);
      expect((await scene().look())?.lease).toMatchObject({ epoch: 1 });
    });

    test('tells of an expired lease that could be taken over', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2', { takeOver: false })).toMatchObject({ refusal: 'expired', epoch: 1 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
    });

    test('takes over the expired lease of a parked task', async () => {
      await scene().create();
      await scene().commit(TaskState.TASK_STATE_INPUT_REQUIRED);
      await scene().database.leases.expireNow(scene().taskId);
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect((await scene().look())?.lease).toMatchObject({ epoch: 3, pending: true });
    });
  });
}
