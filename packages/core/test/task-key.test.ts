import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStorableKey, isStorableName, MAX_KEY_BYTES, sameScope } from '../src/index.js';

describe('keys', () => {
  test.each([
    ['an ordinary id', '0b0f6c3e-5f5c-4f1e-9d3c-000000000000', true],
    ['one byte', 'x', true],
    ['a space inside or in front', ' a b', true],
    ['a tab or a line end at the end', 'a\t', true],
    ['a no-break space at the end', 'a\u00a0', true],
    ['quotes, percent and backslash', `'"%_\\;--`, true],
    ['as many bytes as fit', 'a'.repeat(MAX_KEY_BYTES), true],
    ['one byte too many', 'a'.repeat(MAX_KEY_BYTES + 1), false],
    ['few characters of too many bytes', '€'.repeat(64), false],
    ['many bytes that just fit', '€'.repeat(63) + 'ab', true],
    ['a pair of surrogates', '😀', true],
    ['a lone high surrogate', 'a\ud83d', false],
    ['a lone low surrogate', '\ude00a', false],
    ['NUL at the end', 'a\u0000', false],
    ['NUL inside', 'a\u0000b', false],
    ['a space at the end', 'alice ', false],
    ['only a space', ' ', false],
    ['nothing', '', false],
  ])('with %s are told apart', (_what, key, storable) => {
    expect(isStorableKey(key)).toBe(storable);
  });

  test('and names differ only in that a name may be empty', () => {
    expect(isStorableName('')).toBe(true);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), (name) => {
        expect(isStorableName(name)).toBe(isStorableKey(name));
      }),
    );
  });

  test('of scopes are compared by both parts and byte for byte', () => {
    const scope = { tenant: 'a', owner: 'é' };
    expect(sameScope(scope, { ...scope })).toBe(true);
    expect(sameScope(scope, { tenant: 'A', owner: 'é' })).toBe(false);
    expect(sameScope(scope, { tenant: 'a', owner: 'e\u0301' })).toBe(false);
    expect(sameScope(scope, { tenant: 'aé', owner: '' })).toBe(false);
  });
});
