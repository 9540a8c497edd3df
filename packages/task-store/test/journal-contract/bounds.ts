import { describe, expect, test } from '@jest/globals';
import type { Database } from '@a2a-cluster/db';
import { TaskState } from '@a2a-js/sdk';
import { Scene } from './scene.js';

/** How long a database is waited for. */
export function describeBounds(database: () => Database): void {
  describe('a database that is away', () => {
    test('is not waited for beyond the lost signal, and what lands late is told once', async () => {
      const scene = new Scene(database());
      await scene.create();
      scene.heard.length = 0;
      const lost = new AbortController();
      scene.faulty.next('commit', 'frozen');
      const authority = scene.authority({ lost: lost.signal });
      const writing = scene.commit(TaskState.TASK_STATE_WORKING, { authority });
      while (scene.faulty.calls('commit') === 0) await new Promise((resolve) => setImmediate(resolve));
      lost.abort();
      expect(await writing).toEqual({ ok: false, refusal: 'lease_lost' });
      expect(scene.told()).toEqual([]);
      scene.faulty.thaw();
      while (scene.heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(scene.told()).toEqual(['2:statusUpdate/1']);
      expect(await scene.log()).toEqual(['task/1', 'statusUpdate/1']);
    });

    test('is not asked at all once the lease is lost', async () => {
      const scene = new Scene(database());
      await scene.create();
      const authority = scene.authority({ lost: AbortSignal.abort() });
      expect(await scene.commit(TaskState.TASK_STATE_WORKING, { authority })).toEqual({
        ok: false,
        refusal: 'lease_lost',
      });
      expect(scene.faulty.calls('commit')).toBe(0);
    });

    test.each(['commit', 'createTask'])('for a whole TTL ends a %s with its fault', async (statement) => {
      const scene = new Scene(database(), { ttlMs: 200 });
      if (statement === 'commit') await scene.create();
      scene.faulty.always((name) => (name === statement ? 'refused' : undefined));
      const writing = statement === 'commit' ? scene.commit(TaskState.TASK_STATE_WORKING) : scene.create();
      await expect(writing).rejects.toMatchObject({ code: 'STORE_FAULT' });
      expect(scene.faulty.calls(statement)).toBeGreaterThan(2);
    });

    test('for less than that is got over', async () => {
      const scene = new Scene(database());
      await scene.create();
      scene.faulty.next('commit', 'refused', 'refused', 'refused');
      expect(await scene.commit(TaskState.TASK_STATE_WORKING)).toMatchObject({ ok: true });
    });

    test('does not make a listener that throws spoil a stored write', async () => {
      const fail = (): void => {
        throw new Error('no ears');
      };
      const scene = new Scene(database(), { onCommitted: fail });
      expect(await scene.create()).toMatchObject({ ok: true });
      expect(await scene.log()).toEqual(['task/1']);
    });
  });
}
