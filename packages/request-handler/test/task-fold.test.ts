import { expect, test } from '@jest/globals';
import type { Task } from '@a2a-js/sdk';
import { decodeEvent, encodeEvent, project, type NewEvent, type TaskEvent } from '@a2a-cluster/core';
import fc from 'fast-check';
import { event as anyEvent, taskEvent } from '../../core/test/arbitraries.js';
import { TaskFold } from '../src/task-fold.js';

let writes = 0;

function stored(event: TaskEvent): NewEvent {
  writes += 1;
  return { kind: event.kind, payload: encodeEvent(event), writeId: `w${writes}` };
}

/** The log of a turn: a `task` event is stored merged, as the turn does it. */
function logOf(events: readonly TaskEvent[]): {
  readonly log: NewEvent[];
  readonly tasks: (Task | undefined)[];
} {
  const log: NewEvent[] = [];
  const tasks: (Task | undefined)[] = [undefined];
  for (const event of events) {
    const read = decodeEvent(event.kind, encodeEvent(event));
    const after = project(tasks.at(-1), read);
    const next = stored(read.kind === 'task' && after ? { kind: 'task', data: after } : read);
    log.push(next);
    tasks.push(project(tasks.at(-1), decodeEvent(next.kind, next.payload)));
  }
  return { log, tasks };
}

const events = fc
  .tuple(taskEvent, fc.array(anyEvent, { maxLength: 12 }))
  .map(([first, rest]): TaskEvent[] => [first, ...rest]);

test('gives at any place what folding every event gives, wherever it was asked before', () => {
  fc.assert(
    fc.property(events, fc.array(fc.nat(14)), (all, asked) => {
      const { log, tasks } = logOf(all);
      const fold = new TaskFold(undefined);
      for (const event of log) fold.add(event);
      expect(fold.count).toBe(log.length);
      let furthest = 0;
      for (const count of asked) {
        const task = fold.at(count);
        if (count < furthest || count > log.length) expect(task).toBeUndefined();
        else {
          expect(task).toEqual(tasks[count]);
          furthest = count;
        }
      }
      expect(fold.at(log.length)).toEqual(tasks.at(-1));
    }),
  );
});

test('does not change what it gave before', () => {
  fc.assert(
    fc.property(events, (all) => {
      const { log } = logOf(all);
      const fold = new TaskFold(undefined);
      const given: { readonly task: Task | undefined; readonly was: string }[] = [];
      for (const event of log) {
        fold.add(event);
        const task = fold.at(fold.count);
        given.push({ task, was: JSON.stringify(task) ?? '' });
      }
      for (const { task, was } of given) expect(JSON.stringify(task) ?? '').toBe(was);
    }),
  );
});
