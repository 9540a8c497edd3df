import { open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pause } from '../world/now.js';
import { isAlive } from './processes.js';

const file = path.join(tmpdir(), 'a2a-cluster-faults.lock');
const LOOK_MS = 100;

/**
 * Does some work while no other harness on this machine does: two at once would measure each other's load. Waits for
 * as long as it takes; the lock of a process that is gone is broken.
 */
export async function oneAtATime<T>(work: () => Promise<T>, say: (text: string) => void): Promise<T> {
  let told = false;
  while (!(await take())) {
    if (!told) say('another run is under way on this machine; waiting for it');
    told = true;
    await pause(LOOK_MS);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(String(process.pid));
    await handle.close();
    return true;
  } catch {
    const holder = Number(await readFile(file, 'utf8').catch(() => ''));
    // 0: it has just been made and is not written yet.
    if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
    return false;
  }
}
