import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { clock, type Scene } from './scene.js';

/** Answers that were lost, and writes that came in between. */
export function describeAmbiguity(scene: () => Scene): void {
  describe('an attempt that was not answered', () => {
    const faults = [['answer_lost'], ['request_lost'], ['overtaken'], ['refused']] as const;

    test.each(faults)('of a creation is resolved (%s): one row, told once', async (fault) => {
      scene().faulty.next('createTask', fault, fault);
      expect(await scene().create()).toMatchObject({ ok: true, version: 1 });
      expect(await scene().log()).toEqual(['task/1']);
      expect(scene().told()).toEqual(['1:task/1']);
    });

    test.each(faults)('of a commit is resolved (%s): one row, told once', async (fault) => {
      await scene().create();
      scene().faulty.next('commit', fault, fault);
      scene().faulty.next('findOwnWrite', 'refused', 'request_lost');
      expect(await scene().commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true, version: 2 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test('of the commit that ended the task is not told as terminal', async () => {
      await scene().create();
      scene().faulty.next('commit', 'answer_lost');
      expect(await scene().commit(TaskState.TASK_STATE_COMPLETED)).toMatchObject({ ok: true, version: 2 });
    });

    test.each([TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED])(
      'that lands while its retry is on the way is found by the search after the refusal (state %s)',
      async (state) => {
        await scene().create();
        scene().faulty.next('commit', 'overtaken');
        expect(await scene().commit(state)).toMatchObject({ ok: true, version: 2 });
        expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
        expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
      },
    );

    test.each(faults)('of an opening is resolved (%s): one message, told once', async (fault) => {
      await scene().park();
      scene().faulty.next('openTurn', fault);
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1', 'message/3']);
      expect(scene().told()).toEqual(['3:message/3']);
    });

    test('of an opening is looked for again when the look itself goes wrong', async () => {
      await scene().park();
      scene().faulty.next('openTurn', 'answer_lost');
      scene().faulty.next('findMessage', 'refused', 'request_lost');
      expect(await scene().open('m2')).toMatchObject({ ok: true, epoch: 3 });
      expect(scene().told()).toEqual(['3:message/3']);
    });

    test.each(faults)('of a cancel is resolved (%s): one event, told once', async (fault) => {
      await scene().create();
      scene().faulty.next('cancel', fault);
      expect(await scene().cancel(1)).toEqual({ ok: true, version: 2 });
      expect(await scene().log()).toEqual(['task/1', 'statusUpdate/1']);
      expect(scene().told()).toEqual(['1:task/1', '2:statusUpdate/1']);
    });

    test.each(['createTask', 'openTurn'])(
      'of %s leaves the lease trusted from when the first attempt was sent',
      async (statement) => {
        if (statement === 'openTurn') await scene().park();
        const sent: number[] = [];
        scene().faulty.always((name) => {
          if (name === statement) sent.push(clock.monotonicMs());
          return name === statement && sent.length === 1 ? 'answer_lost' : undefined;
        });
        const done = await (statement === 'openTurn' ? scene().open('m2') : scene().create());
        expect(sent).toHaveLength(2);
        expect(done.ok && done.sentAtMs <= sent[0]!).toBe(true);
      },
    );

    test("of a write without a lease is the caller's after a few attempts", async () => {
      await scene().park();
      scene().faulty.always((statement) => (statement === 'openTurn' ? 'refused' : undefined));
      await expect(scene().open('m2')).rejects.toMatchObject({ code: 'STORE_FAULT' });
    });
  });
}
