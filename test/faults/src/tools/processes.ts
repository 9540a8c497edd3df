import { mkdtempSync, readdirSync, readFileSync, chmodSync, chownSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { identityOf, ownFolder } from './owned.js';

/** Whether a process runs. A zombie, which has ended and waits for its parent, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const state = readProc(pid, 'stat')?.replace(/^.*\)\s+/s, '')[0];
  return state !== 'Z' && state !== 'X';
}

/** The memory a process holds, or null where the system does not tell (no /proc) or it has ended. */
export function residentBytes(pid: number): number | null {
  const line = readProc(pid, 'status')?.match(/^VmRSS:\s+(\d+) kB$/m);
  return line ? Number(line[1]) * 1024 : null;
}

/** How many files and sockets a process has open, or null where the system does not tell or it has ended. */
export function fileHandles(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

function readProc(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return null;
  }
}

/** A port of 127.0.0.1 nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A folder that goes with the harness. */
export interface TempFolder {
  readonly path: string;
  /** Removes it and all that is in it. A second call does nothing. */
  remove(): void;
}

/** Makes an empty folder in the system's temporary one; `user` owns it where the harness is root. */
export function tempFolder(name: string, user?: string): TempFolder {
  const folder = mkdtempSync(path.join(tmpdir(), `a2a-faults-${name}-`));
  const remove = ownFolder(folder);
  // Others may pass: nginx and the servers read files the harness writes into it.
  chmodSync(folder, 0o755);
  const { uid, gid } = identityOf(user);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return { path: folder, remove };
}

/** Waits until `holds` answers true. @throws with `what` after `withinMs`, or what `holds` throws. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  limit: { readonly what: string; readonly withinMs: number },
): Promise<void> {
  const end = performance.now() + limit.withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${limit.withinMs} ms: ${limit.what}`);
    await pause(20);
  }
}
