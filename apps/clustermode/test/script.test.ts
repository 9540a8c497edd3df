import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CHUNK_BYTES, MAX_COUNT, MAX_STEP_MS, parseScript, type Step } from '../src/agent/script.js';

const done: Step = { kind: 'done', text: '' };

describe('a script', () => {
  test('is split at semicolons and new lines, empty steps skipped', () => {
    expect(parseScript(' tick 2 10 ;\r\n\nsleep 5;; done  all good ')).toEqual([
      { kind: 'tick', count: 2, paceMs: 10 },
      { kind: 'sleep', ms: 5 },
      { kind: 'done', text: 'all good' },
    ]);
  });

  test('ends in done when nothing else ends it', () => {
    expect(parseScript('chunk 3 100 0')).toEqual([{ kind: 'chunk', count: 3, bytes: 100, paceMs: 0 }, done]);
    expect(parseScript('auth 7')).toEqual([{ kind: 'auth', ms: 7 }, done]);
  });

  test.each(['fail boom', 'reject no', 'ask which?', 'done yes', 'say hi'])('is over after %s', (ending) => {
    const [kind, text] = ending.split(' ');
    expect(parseScript(`${ending}; tick 1 1`)).toEqual([{ kind, text }]);
  });

  test('keeps the linger of an ask and nothing after it', () => {
    const steps = [
      { kind: 'ask', text: 'what?' },
      { kind: 'linger', ms: 500 },
    ];
    expect(parseScript('ask what?; linger 500; tick 1 1')).toEqual(steps);
  });

  test.each([
    '',
    '  ;\n ',
    'hello',
    'tick',
    'tick 5',
    'tick 5 100 9',
    'tick -1 5',
    'tick 1.5 5',
    'tick 1e3 5',
    'tick five 5',
    `tick ${MAX_COUNT + 1} 1`,
    `sleep ${MAX_STEP_MS + 1}`,
    `chunk 1 ${MAX_CHUNK_BYTES + 1} 1`,
    'chunk 1 1',
    'sleep',
    'Tick 5 5',
    'ticks 5 5',
    'done-ish',
    'linger 5',
    'tick 1 1; linger 5',
    'tick 1 1; say hi',
    'tick 1 1; hello',
    'toString 5',
  ])('is no script with one bad step: %j', (text) => {
    expect(parseScript(text)).toEqual([
      { kind: 'tick', count: 5, paceMs: 1000 },
      { kind: 'done', text: text.trim() },
    ]);
  });

  test('comes back from its own text', () => {
    fc.assert(
      fc.property(
        fc.array(stepText(), { minLength: 1 }),
        fc.constantFrom(';', '\n', ' ; '),
        (steps, separator) => {
          const parsed = parseScript(steps.map(([text]) => text).join(separator));
          expect(parsed).toEqual([...steps.map(([, step]) => step), done]);
        },
      ),
    );
  });

  test('of any text is never empty and ends exactly once', () => {
    const endings = new Set(['ask', 'say', 'fail', 'reject', 'done']);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), wordSalad()), (text) => {
        const steps = parseScript(text);
        expect(steps.filter((step) => endings.has(step.kind))).toHaveLength(1);
      }),
    );
  });
});

function stepText(): fc.Arbitrary<readonly [string, Step]> {
  const count = fc.nat(MAX_COUNT);
  const ms = fc.nat(MAX_STEP_MS);
  const timed = fc.constantFrom('sleep' as const, 'deaf' as const, 'block' as const, 'auth' as const);
  return fc.oneof(
    fc.tuple(count, ms).map(([n, m]) => [`tick ${n} ${m}`, { kind: 'tick', count: n, paceMs: m }] as const),
    fc.tuple(timed, ms).map(([kind, m]) => [`${kind}  ${m}`, { kind, ms: m }] as const),
    fc
      .tuple(count, fc.nat(MAX_CHUNK_BYTES), ms)
      .map(
        ([n, b, m]) => [`chunk ${n} ${b} ${m}`, { kind: 'chunk', count: n, bytes: b, paceMs: m }] as const,
      ),
  );
}

function wordSalad(): fc.Arbitrary<string> {
  const word = fc.constantFrom(
    'tick',
    'chunk',
    'sleep',
    'ask',
    'say',
    'linger',
    'done',
    ';',
    '\n',
    '5',
    '0',
    'x',
  );
  return fc.array(word, { maxLength: 12 }).map((words) => words.join(' '));
}
