import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

const SYSTEM = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** The path of a program, or null when it is not installed: `first`, then PATH, then where Debian keeps servers. */
export function findProgram(name: string, first: readonly string[] = []): string | null {
  const folders = [...first, ...(process.env['PATH'] ?? '').split(path.delimiter), ...SYSTEM];
  for (const folder of folders) {
    const file = path.join(folder, name);
    if (folder !== '' && existsSync(file)) return file;
  }
  return null;
}

/** Folders of `parent/<version>/<child>`, the highest version first. */
export function versionFolders(parent: string, child: string): string[] {
  if (!existsSync(parent)) return [];
  return readdirSync(parent)
    .filter((version) => /^\d+$/.test(version))
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => path.join(parent, version, child));
}
