import { expect, test } from '@jest/globals';
import { isOk, toJson, type Report, type Result } from '../src/report/json.js';
import { toMarkdown } from '../src/report/markdown.js';
import { putBetweenMarks } from '../src/report/page.js';
import { summarizeProfile } from '../src/report/profile-summary.js';

const result = (more: Partial<Result>): Result => ({
  ...{ name: 'B1', database: 'postgresql', figure: 'a | b', unit: 'ratio', value: 1.23456, baseline: 'bare' },
  ...{ bar: { op: '<=', limit: 2 }, spread: { min: 1, max: 1.5, samples: 3 } },
  ...more,
});
const report = (more: Partial<Report>): Report => ({ results: [], failures: [], quick: false, ...more });

test('a missed bar or a failure makes a run fail, but bars are not judged at small sizes', () => {
  const missed = result({ bar: { op: '>=', limit: 2 } });
  expect(isOk(report({ results: [result({}), result({ bar: null })] }))).toBe(true);
  expect(isOk(report({ results: [missed] }))).toBe(false);
  expect(isOk(report({ results: [missed], quick: true }))).toBe(true);
  const failures = [{ name: 'B1', database: 'mysql' as const, error: 'no' }];
  expect(isOk(report({ failures, quick: true }))).toBe(false);
});

test('the JSON of a figure has what people and tools read', () => {
  expect(toJson(report({ results: [result({ detail: { ms: 2 } })] }))).toEqual({
    ok: true,
    quick: false,
    failures: [],
    results: [
      {
        ...{
          name: 'B1',
          database: 'postgresql',
          figure: 'a | b',
          unit: 'ratio',
          value: 1.23,
          bar: '<= 2',
          ok: true,
        },
        ...{ baseline: 'bare', spread: { min: 1, max: 1.5, samples: 3 }, detail: { ms: 2 } },
      },
    ],
  });
});

test('the table says what was kept, and keeps its columns', () => {
  const machine = { cores: 2, node: '20', servers: ['X 1'], date: '2026-01-01' };
  const results = [result({}), result({ value: 3, spread: null }), result({ bar: null })];
  const rows = toMarkdown(report({ results }), machine).split('\n').slice(2, 7);
  expect(rows[2]).toBe('| B1 | postgresql | a \\| b | 1.23 | <= 2 | kept | 1 to 1.5 (3) | bare |  |');
  expect(rows[3]).toMatch(/\| 3 \| <= 2 \| \*\*missed\*\* \| counted \|/);
  expect(rows[4]).toMatch(/\| 1.23 \| {2}\| {2}\| 1 to/);
});

test('the table goes between the marks of a page and leaves the rest', () => {
  const page = 'a\n<!-- bench: begin -->\n\nold\n<!-- bench: end -->\nz';
  expect(putBetweenMarks(page, 'new')).toBe('a\n<!-- bench: begin -->\n\nnew\n<!-- bench: end -->\nz');
  expect(() => putBetweenMarks('a', 'new')).toThrow(/no '<!-- bench: begin -->'/);
});

test('a profile is told by package and by function, without the time nothing was done', () => {
  const frame = (functionName: string, url: string) => ({ functionName, url, lineNumber: 6 });
  const { busyMs, packages, functions } = summarizeProfile({
    nodes: [
      { id: 1, callFrame: frame('(idle)', '') },
      { id: 2, callFrame: frame('commit', 'file:///x/packages/task-store/dist/journal.js') },
      { id: 3, callFrame: frame('query', 'file:///x/node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js') },
      { id: 4, callFrame: frame('(garbage collector)', '') },
    ],
    samples: [1, 2, 3, 2, 4],
    timeDeltas: [5000, 2000, 1000, 4000, 1000],
  });
  expect(busyMs).toBe(8);
  expect(packages).toEqual([
    { name: '@a2a-cluster/task-store', share: 0.75 },
    { name: 'pg', share: 0.125 },
    { name: '(garbage collector)', share: 0.125 },
  ]);
  expect(functions[0]).toEqual({ name: 'commit (@a2a-cluster/task-store journal.js:7)', share: 0.75 });
});
