import { describe, expect, test } from '@jest/globals';
import { absoluteDatabaseUrl, migrationProviderOf } from '../../packages/db/src/migrations/database-url.js';

describe('absoluteDatabaseUrl', () => {
  test.each([
    ['file:./.data/cluster.db', 'file:/srv/app/.data/cluster.db'],
    ['file:cluster.db?timeout=5', 'file:/srv/app/cluster.db?timeout=5'],
    ['file:/var/cluster.db', 'file:/var/cluster.db'],
    ['file:///var/cluster.db', 'file:/var/cluster.db'],
    ['postgresql://u:p@h/db?schema=s', 'postgresql://u:p@h/db?schema=s'],
  ])('%s counts from the given folder', (url, absolute) => {
    expect(absoluteDatabaseUrl(url, '/srv/app')).toBe(absolute);
  });
});

describe('migrationProviderOf', () => {
  test.each([
    ['file:a.db', 'sqlite'],
    ['postgres://h/d', 'postgresql'],
    ['postgresql://h/d', 'postgresql'],
    ['mysql://h/d', 'mysql'],
    ['mariadb://h/d', 'mysql'],
  ])('%s is %s', (url, provider) => {
    expect(migrationProviderOf(url)).toBe(provider);
  });

  test('another scheme is refused without a word of the URL', () => {
    expect(() => migrationProviderOf('oracle://user:secret@h/d')).toThrow(
      /^(?!.*secret).*must start with file:/,
    );
  });
});
