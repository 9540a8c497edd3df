import { describe, expect, test } from '@jest/globals';
import { COUNTERS, createTally, HISTOGRAMS, type Telemetry } from '../src/index.js';

describe('a tally', () => {
  test('adds up by labels, whatever their order, and over all of them', () => {
    const tally = createTally();
    tally.count('turns_refused_total', { reason: 'TASK_BUSY' });
    tally.count('turns_refused_total', { reason: 'TASK_BUSY' }, 2);
    tally.count('turns_refused_total', { reason: 'TOO_MANY_TURNS' });
    tally.count('leases_renewed_total', undefined, 4);
    tally.count('pruned_total', { what: 'events', by: 'x' });
    tally.count('pruned_total', { by: 'x', what: 'events' });
    expect(tally.total('turns_refused_total')).toBe(4);
    expect(tally.total('turns_refused_total', { reason: 'TASK_BUSY' })).toBe(3);
    expect(tally.total('turns_refused_total', { reason: 'REPLICA_DRAINING' })).toBe(0);
    expect(tally.total('leases_renewed_total')).toBe(4);
    expect(tally.total('leases_lost_total')).toBe(0);
    expect(tally.total('pruned_total', { what: 'events', by: 'x' })).toBe(2);
  });

  test('hands everything on, and a failing receiver changes nothing', () => {
    const heard: unknown[] = [];
    const next: Telemetry = {
      count: (...args) => void heard.push(args),
      observe: (...args) => {
        heard.push(args);
        throw new Error('no');
      },
    };
    const tally = createTally(next);
    tally.count('leases_renewed_total', undefined, 3);
    tally.observe('commit_seconds', 0.5);
    expect(heard).toEqual([
      ['leases_renewed_total', {}, 3],
      ['commit_seconds', 0.5, {}],
    ]);
    const broken = createTally({
      count: () => {
        throw new Error('no');
      },
      observe: () => {},
    });
    broken.count('turns_started_total');
    expect(broken.total('turns_started_total')).toBe(1);
  });
});

describe('the catalogue', () => {
  test('names things as Prometheus wants it, with buckets that rise', () => {
    for (const name of Object.keys(COUNTERS)) expect(name).toMatch(/^[a-z_]+_total$/);
    for (const [name, { buckets }] of Object.entries(HISTOGRAMS)) {
      expect(name).toMatch(/^[a-z_]+_(seconds|events)$/);
      expect([...buckets].sort((a, b) => a - b)).toEqual(buckets);
    }
  });
});
