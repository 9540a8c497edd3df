import { describe, expect, test } from '@jest/globals';
import { hasTools } from '@a2a-cluster/testing';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Every `file:function` that docs/model.md names. */
function mapped(): { readonly file: string; readonly name: string }[] {
  const text = readFileSync(path.join(root, 'docs/model.md'), 'utf8');
  return [...text.matchAll(/`(packages\/[^`:]+\.ts):(\w+)`/g)].map(([, file = '', name = '']) => ({
    file,
    name,
  }));
}

/** Whether a source declares a function or a method of that name. */
function declares(source: string, name: string): boolean {
  const asFunction = `^ *(export )?(async )?function ${name}[<(]`;
  // Members of a class stand two columns in; a call never does.
  const asMethod = `^  (private |async |get )*${name}[<(]`;
  return new RegExp(`${asFunction}|${asMethod}`, 'm').test(source);
}

function has(program: string, arg: string): boolean {
  return spawnSync(program, [arg], { stdio: 'ignore' }).error === undefined;
}

describe('the model of the lease protocol', () => {
  test('names functions that exist', () => {
    const missing = mapped().filter(({ file, name }) => {
      const full = path.join(root, file);
      return !existsSync(full) || !declares(readFileSync(full, 'utf8'), name);
    });
    expect(mapped().length).toBeGreaterThan(25);
    expect(missing).toEqual([]);
  });

  const missing = has('spin', '-V') ? (has('cc', '--version') ? null : 'a C compiler') : 'spin';
  const checker = hasTools({ tests: 'the model', missing }) ? test : test.skip;
  checker(
    'holds in its smallest configuration',
    () => {
      const args = ['scripts/model.mjs', '--properties', '--only', 'smallest', '--json'];
      const run = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
      const report = JSON.parse(run.stdout) as {
        ok: boolean;
        results: { verdict: string; states: number }[];
      };
      expect(report).toMatchObject({ ok: true, results: [{ verdict: 'holds' }] });
      expect(report.results[0]?.states).toBeGreaterThan(10_000);
      expect(run.status).toBe(0);
    },
    180_000,
  );
});
