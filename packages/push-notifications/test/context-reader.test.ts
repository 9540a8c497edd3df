import { describe, expect, test } from '@jest/globals';
import { createContextReader } from '../src/context-reader.js';
import { DeliveryContext } from '../src/push-config-store.js';

type Tasks = readonly { readonly taskId: string }[];

const scope = { tenant: '', owner: 'alice' };
const contextOf = (taskId: string): DeliveryContext => new DeliveryContext({ taskId, scope, configs: [] });

/** A store whose reads end when the test says so. */
function slowStore() {
  const reads: { tasks: Tasks; end(error?: Error): void }[] = [];
  return {
    reads,
    contextsFor: (tasks: Tasks) =>
      new Promise<DeliveryContext[]>((resolve, reject) => {
        const end = (error?: Error): void =>
          error ? reject(error) : resolve(tasks.map(({ taskId }) => contextOf(taskId)));
        reads.push({ tasks, end });
      }),
  };
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the reader of delivery contexts', () => {
  test('reads one batch at a time; what comes meanwhile goes together', async () => {
    const store = slowStore();
    const reader = createContextReader(store);
    const first = reader.read({ taskId: 'a', scope });
    await nextRound();
    const rest = ['b', 'c', 'd'].map((taskId) => reader.read({ taskId, scope }));
    await nextRound();
    expect(store.reads.map(({ tasks }) => tasks.map(({ taskId }) => taskId))).toEqual([['a']]);
    store.reads[0]?.end();
    expect((await first)?.taskId).toBe('a');
    await nextRound();
    expect(store.reads[1]?.tasks.map(({ taskId }) => taskId)).toEqual(['b', 'c', 'd']);
    store.reads[1]?.end();
    expect((await Promise.all(rest)).map((context) => context?.taskId)).toEqual(['b', 'c', 'd']);
    expect(store.reads).toHaveLength(2);
  });

  test('splits what is more than one query takes, still one at a time', async () => {
    const store = slowStore();
    const reader = createContextReader(store);
    const all = Array.from({ length: 1_001 }, (_, n) => reader.read({ taskId: `t-${n}`, scope }));
    for (const count of [500, 500, 1]) {
      await nextRound();
      const read = store.reads.at(-1);
      expect(read?.tasks).toHaveLength(count);
      read?.end();
    }
    expect((await Promise.all(all)).map((context) => context?.taskId)).toEqual(all.map((_, n) => `t-${n}`));
  });

  test('a read that fails fails its own tasks only', async () => {
    const store = slowStore();
    const reader = createContextReader(store);
    const first = expect(reader.read({ taskId: 'a', scope })).rejects.toThrow('gone');
    await nextRound();
    const second = reader.read({ taskId: 'a', scope });
    store.reads[0]?.end(new Error('gone'));
    await first;
    await nextRound();
    store.reads[1]?.end();
    expect((await second)?.taskId).toBe('a');
  });
});
