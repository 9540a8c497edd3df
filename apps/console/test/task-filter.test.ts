import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { taskIdOf, taskPath } from '../src/state/paths.js';
import { conditionsOf, cursorOf, filterOf, NO_FILTER, searchOf } from '../src/state/task-filter.js';

const age = fc.option(fc.integer({ min: 1, max: 1e12 }), { nil: null });
const filters = fc.record({
  states: fc.uniqueArray(fc.string({ minLength: 1 })),
  tenant: fc.string(),
  owner: fc.string(),
  holder: fc.string(),
  context: fc.string(),
  olderThanMs: age,
  youngerThanMs: age,
});

describe('the filter in the URL', () => {
  test('comes back as it went in, with any text and a cursor', () => {
    fc.assert(
      fc.property(filters, fc.option(fc.string({ minLength: 1 })), (filter, cursor) => {
        const search = searchOf(filter, cursor);
        expect(filterOf(search)).toEqual(filter);
        expect(cursorOf(search)).toBe(cursor);
      }),
    );
  });

  test('is nothing where nothing is narrowed', () => {
    expect(searchOf(NO_FILTER)).toBe('');
    expect(filterOf('')).toEqual(NO_FILTER);
    expect(cursorOf('?cursor=')).toBeNull();
  });

  test('leaves out what it does not understand', () => {
    expect(filterOf('?olderThanMs=-4&youngerThanMs=soon&state=&state=A&state=A&color=red')).toEqual({
      ...NO_FILTER,
      states: ['A'],
    });
  });

  test('counts its conditions', () => {
    expect(conditionsOf(NO_FILTER)).toBe(0);
    expect(conditionsOf({ ...NO_FILTER, states: ['A', 'B'], owner: 'o', olderThanMs: 5 })).toBe(3);
  });
});

describe('the path of a task', () => {
  test('names any id and gives it back', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        expect(taskIdOf(`/console${taskPath(id)}`)).toBe(id);
      }),
    );
  });

  test('takes a broken escape as it is written', () => {
    expect(taskIdOf('/console/tasks/100%')).toBe('100%');
    expect(taskIdOf('/console/tasks')).toBe('');
  });
});
