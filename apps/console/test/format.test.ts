import { describe, expect, test } from '@jest/globals';
import { ago, bytes, count, countdown, duration, plural, shorten } from '../src/text/format.js';
import { hasEnded, stateLabel, stateTone } from '../src/text/states.js';

describe('numbers and times for people', () => {
  test.each([
    [0, '0'],
    [0.04, '0'],
    [3.14, '3.1'],
    [42.6, '43'],
    [12_345, '12 345'],
    [1_234_567, '1 234 567'],
    [-1_500, '-1 500'],
    [Number.NaN, '–'],
  ])('%d is %s', (value, text) => expect(count(value)).toBe(text));

  test.each([
    [-5, '0 ms'],
    [350, '350 ms'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [7_199_999, '1 h'],
    [172_800_000, '2 d'],
    [Number.POSITIVE_INFINITY, '–'],
  ])('%d ms are %s', (ms, text) => expect(duration(ms)).toBe(text));

  test('what lies ahead by another clock is just now', () => {
    expect(ago(-4_000)).toBe('just now');
    expect(ago(1_999)).toBe('just now');
    expect(ago(185_000)).toBe('3 min ago');
  });

  test('a countdown never shows 0 s, and is over at its end', () => {
    expect(countdown(1)).toBe('1 s');
    expect(countdown(59_100)).toBe('1 min 00 s');
    expect(countdown(65_000)).toBe('1 min 05 s');
    expect(countdown(0)).toBeNull();
    expect(countdown(-1)).toBeNull();
  });

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [3_400, '3.4 kB'],
    [12_000_000, '12 MB'],
    [5e12, '5000 GB'],
  ])('%d bytes are %s', (value, text) => expect(bytes(value)).toBe(text));

  test('one is one, all else is many', () => {
    expect([plural(1, 'task'), plural(0, 'task'), plural(2, 'piece')]).toEqual([
      '1 task',
      '0 tasks',
      '2 pieces',
    ]);
  });

  test('a long id loses its middle, a short one nothing', () => {
    expect(shorten('abcdefghijklmnopq')).toBe('abcdefghijklmnopq');
    expect(shorten('abcdefghijklmnopqr')).toBe('abcdefgh…klmnopqr');
  });
});

describe('states', () => {
  test('have words and a tone', () => {
    expect(stateLabel('TASK_STATE_INPUT_REQUIRED')).toBe('Input required');
    expect(stateTone('TASK_STATE_INPUT_REQUIRED')).toBe('wait');
    expect(hasEnded('TASK_STATE_REJECTED')).toBe(true);
    expect(hasEnded('TASK_STATE_AUTH_REQUIRED')).toBe(false);
  });

  test('that nobody knows are shown as they are', () => {
    expect(stateLabel('odd')).toBe('odd');
    expect(stateLabel('')).toBe('Unknown');
    expect(stateTone('TASK_STATE_TO_COME')).toBe('calm');
  });
});
