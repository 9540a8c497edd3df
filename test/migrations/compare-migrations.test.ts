import { describe, expect, test } from '@jest/globals';
import {
  compareMigrations,
  type AppliedMigration,
} from '../../packages/db/src/migrations/compare-migrations.js';

const expected = [
  { name: '20260101_tasks', checksum: 'a' },
  { name: '20260102_leases', checksum: 'b' },
];
const row = (name: string, rest: Partial<AppliedMigration> = {}): AppliedMigration => ({
  migration_name: name,
  checksum: { '20260101_tasks': 'a', '20260102_leases': 'b' }[name] ?? 'x',
  finished_at: new Date(0),
  rolled_back_at: null,
  ...rest,
});
const all = [row('20260101_tasks'), row('20260102_leases')];

describe('compareMigrations', () => {
  test('all of ours and nothing else is current', () => {
    expect(compareMigrations(all, expected)).toMatchObject({ state: 'current', missing: [] });
  });

  test('an empty database is behind by everything, and is told what to run', () => {
    const { state, missing, message } = compareMigrations([], expected);
    expect({ state, missing }).toEqual({ state: 'behind', missing: ['20260101_tasks', '20260102_leases'] });
    expect(message).toContain('npx prisma migrate deploy');
  });

  test('a missing one is named', () => {
    const { state, message } = compareMigrations(all.slice(0, 1), expected);
    expect(state).toBe('behind');
    expect(message).toContain('20260102_leases');
  });

  test('one that was rolled back counts as missing', () => {
    const rows = [
      row('20260101_tasks'),
      row('20260102_leases', { finished_at: null, rolled_back_at: new Date(0) }),
    ];
    expect(compareMigrations(rows, expected)).toMatchObject({
      state: 'behind',
      missing: ['20260102_leases'],
    });
  });

  test('one that was rolled back and then applied is there', () => {
    const undone = row('20260102_leases', { finished_at: null, rolled_back_at: new Date(0) });
    expect(compareMigrations([...all, undone], expected).state).toBe('current');
  });

  test('one that was begun and never finished is a failure, not a gap', () => {
    const rows = [row('20260101_tasks'), row('20260102_leases', { finished_at: null })];
    expect(compareMigrations(rows, expected)).toMatchObject({
      state: 'failed',
      missing: ['20260102_leases'],
    });
  });

  test('later names beside all of ours are a newer version of ours', () => {
    const { state, message } = compareMigrations([...all, row('20270101_more')], expected);
    expect(state).toBe('ahead');
    expect(message).toContain('20270101_more');
  });

  test.each([
    ['nothing of ours', [row('20270101_invoices')]],
    ['ours and earlier ones', [...all, row('20250101_invoices')]],
  ])('names of another application are foreign: %s', (_case, rows) => {
    const { state, message } = compareMigrations(rows, expected);
    expect(state).toBe('foreign');
    expect(message).toMatch(/_invoices.*\?schema=a2a_cluster/);
  });

  test('one of ours with another text is foreign', () => {
    const rows = [row('20260101_tasks', { checksum: 'z' }), row('20260102_leases')];
    const { state, message } = compareMigrations(rows, expected);
    expect(state).toBe('foreign');
    expect(message).toContain('20260101_tasks');
  });
});
