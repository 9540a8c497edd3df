import { describe, expect, it } from '@jest/globals';
import { parsePlan } from '../hooks/plan.mjs';

/** The passes, counted from 1, at which the first rule of the plan fires. */
function firing(plan: string, passes: number, at: { point: string; taskId?: string }): number[] {
  const [rule] = parsePlan(plan);
  const fired = Array.from({ length: passes }, (_, index) =>
    rule?.take(at.point, [at.taskId ?? 't1']) ? index + 1 : 0,
  );
  return fired.filter((pass) => pass > 0);
}

describe('a plan of failpoints', () => {
  it('fires at the n-th pass only, from it on, or at most so often', () => {
    const point = 'journal.commit@after';
    expect(firing('journal.commit@after=kill#3', 6, { point })).toEqual([3]);
    expect(firing('journal.commit@after=lose#3*2', 6, { point })).toEqual([3, 4]);
    expect(firing('journal.commit@after=lose*2', 6, { point })).toEqual([1, 2]);
    expect(firing('journal.commit@after=lose', 3, { point })).toEqual([1, 2, 3]);
    expect(firing('journal.commit@after=lose', 3, { point: 'journal.commit@before' })).toEqual([]);
  });

  it('fires by chance, the same for the same seed', () => {
    const at = { point: 'leases.beat@before' };
    const once = firing('leases.beat@before=error%0.2;seed=7', 500, at);
    expect(once).toEqual(firing('leases.beat@before=error%0.2;seed=7', 500, at));
    expect(once).not.toEqual(firing('leases.beat@before=error%0.2;seed=8', 500, at));
    expect(once.length).toBeGreaterThan(60);
    expect(once.length).toBeLessThan(140);
  });

  it('counts the passes of one task where one is named', () => {
    const rule = 'journal.commit=lose#2?t2';
    expect(firing(rule, 4, { point: 'journal.commit@before', taskId: 't1' })).toEqual([]);
    expect(firing(rule, 4, { point: 'journal.commit@before', taskId: 't2' })).toEqual([2]);
  });

  it('takes every statement of a part', () => {
    expect(firing('journal.*@after=lose', 1, { point: 'journal.sweep@after' })).toEqual([1]);
    expect(firing('journal.*@after=lose', 1, { point: 'leases.beat@after' })).toEqual([]);
  });

  it.each([
    ['journal.comit=kill', /no failpoint `journal\.comit`/],
    ['journal.commit@during=kill', /no failpoint/],
    ['hints.notify@before=drop', /no failpoint/],
    ['journal.commit@after=error', /`error` is not possible at journal\.commit@after, only .*lose/],
    ['journal.commit=delay', /takes `:<ms>`/],
    ['journal.commit=kill:5', /takes `:<ms>`/],
    ['journal.commit=kill%1.5', /from 0 to 1/],
    ['journal.commit=kill#0', /counted from 1/],
    ['journal.commit', /is not `point/],
    ['seed=x', /one whole number/],
  ])('refuses %s and says why', (plan, why) => {
    expect(() => parsePlan(plan)).toThrow(why);
  });
});
