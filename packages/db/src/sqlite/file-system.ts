import { statfs } from 'node:fs/promises';

/** The number by which Linux names the kind of file system a path is on; rejects where there is no such path. */
export type FileSystemProbe = (path: string) => Promise<number>;

/** Asks the kernel. */
export const statfsType: FileSystemProbe = async (path) => (await statfs(path)).type;

/** Kinds of file systems that other machines, or a process of this one, stand behind (linux/magic.h, statfs(2)). */
const SHARED: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0x517b, 'smb'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb2'],
  [0x01021997, '9p'],
  [0x65735546, 'fuse (or virtiofs)'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x01161970, 'gfs2'],
  [0x7461636f, 'ocfs2'],
  [0x5346414f, 'afs'],
  [0x6b414653, 'afs'],
  [0x73757245, 'coda'],
  [0x786f4256, 'vboxsf'],
]);

/** The kind, where other machines may stand behind it, or null. Pure. */
export function sharedFileSystem(type: number): string | null {
  // The kernel's number is signed on some platforms.
  return SHARED.get(type >>> 0) ?? null;
}

/**
 * A warning where a database file lies on a file system whose locks and shared memory cannot be relied on, or null. A
 * warning and no refusal: some such file systems are of one machine only, and then do. On Linux only; elsewhere, and
 * where the kernel does not say, nothing is known and nothing is said.
 */
export async function fileSystemWarning(
  file: string,
  probe: FileSystemProbe = statfsType,
): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  const type = await probe(file).catch(() => null);
  const kind = type === null ? null : sharedFileSystem(type);
  if (kind === null) return null;
  return (
    `${file} is on a file system of kind ${kind}: SQLite's locks and shared memory do not hold across machines there, ` +
    'and two replicas may write over each other. Put the file on a local disk, or use PostgreSQL, MySQL or MariaDB'
  );
}
