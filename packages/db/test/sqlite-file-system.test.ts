import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createSystemClock } from '@a2a-cluster/core';
import { createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { checkSqlite } from '../src/sqlite/check.js';
import { SqliteConnection } from '../src/sqlite/connection.js';
import { fileSystemWarning, sharedFileSystem, statfsType } from '../src/sqlite/file-system.js';

const NFS = 0x6969;

describe('a file system of kind', () => {
  test.each([
    ['nfs', NFS],
    ['smb', 0x517b],
    ['cifs', 0xff534d42],
    ['cifs', 0xff534d42 | 0],
    ['smb2', 0xfe534d42],
    ['9p', 0x01021997],
    ['fuse (or virtiofs)', 0x65735546],
    ['ceph', 0x00c36400],
  ])('%s (%i) is shared', (kind, type) => {
    expect(sharedFileSystem(type)).toBe(kind);
  });

  test.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['tmpfs', 0x01021994],
    ['overlay', 0x794c7630],
    ['zfs', 0x2fc12fc1],
  ])('%s (%i) is of this machine', (_, type) => {
    expect(sharedFileSystem(type)).toBeNull();
  });
});

const onLinux = process.platform === 'linux' ? describe : describe.skip;
onLinux('the start check', () => {
  let database: TestDatabase | undefined;
  afterEach(() => database?.drop());

  /** The warnings of the whole check, with a kernel that answers so. */
  async function warnings(type?: number): Promise<readonly string[]> {
    database = await createTestDatabase({ provider: 'sqlite' });
    const target = { file: database.url.replace('file:', ''), synchronous: 'FULL' as const };
    const connection = new SqliteConnection(target, createSystemClock());
    try {
      return await checkSqlite(
        target,
        connection.lane(1_000),
        type === undefined ? undefined : () => Promise.resolve(type),
      );
    } finally {
      connection.close();
    }
  }

  test('warns of a file on NFS, names it and says what to do', async () => {
    const [warning, ...others] = await warnings(NFS);
    expect(others).toEqual([]);
    expect(warning).toContain(database?.url.replace('file:', ''));
    expect(warning).toMatch(/of kind nfs.*local disk.*PostgreSQL/);
  });

  test('says nothing of the file system tests run on, by the kernel itself', async () => {
    expect(await warnings()).toEqual([]);
  });

  test.each(['/dev/shm', tmpdir()])(
    'takes %s, which is there, for what the kernel says it is',
    async (place) => {
      const folder = await mkdtemp(path.join(place, 'a2a-fs-'));
      try {
        expect(await statfsType(folder)).toBeGreaterThan(0);
        expect(await fileSystemWarning(folder)).toBeNull();
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );

  test('says nothing where the kernel does not answer', async () => {
    expect(await fileSystemWarning('/no/such/file')).toBeNull();
  });
});
