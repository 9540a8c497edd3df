import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** How a process is told the wrong time. */
export interface FakeTimeOptions {
  /** How far its clock is off at the start: seconds with a sign, or with `m`, `h`, `d`: `+1h`, `-90`. */
  readonly offset?: string;
  /** How fast its clock runs, such as 1.2. */
  readonly rate?: number;
  /** Where the offset is kept, so that {@link jumpTo} can change it while the process runs. */
  readonly file?: string;
}

/** Which package is missing for {@link fakeTimeEnv}, or null. */
export function missingFakeTime(): string | null {
  return library() === null ? 'libfaketime (Debian package libfaketime)' : null;
}

/** The variant for programs with threads, which Node is. */
function library(): string | null {
  for (const parent of ['/usr/lib', '/usr/local/lib']) {
    if (!existsSync(parent)) continue;
    for (const child of ['', ...readdirSync(parent)]) {
      const file = path.join(parent, child, 'faketime/libfaketimeMT.so.1');
      if (existsSync(file)) return file;
    }
  }
  return null;
}

/**
 * The environment that starts a replica under libfaketime, or null where that is not installed. Only the wall clock is
 * wrong: faking the monotonic one stalls Node's timers. Not for database servers: see native/step-clock.c.
 */
export function fakeTimeEnv(options: FakeTimeOptions): Readonly<Record<string, string>> | null {
  const preload = library();
  if (preload === null) return null;
  const { offset = '+0', rate, file } = options;
  const time = settingOf(offset, rate);
  const shared = { LD_PRELOAD: preload, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  if (file === undefined) return { ...shared, FAKETIME: time };
  jumpTo(file, offset, rate);
  return { ...shared, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' };
}

/** Sets the clock of the processes that were started with this file; from their next look at it on. */
export function jumpTo(file: string, offset: string, rate?: number): void {
  // In one step: a process that reads half of it would take it for no offset at all.
  writeFileSync(`${file}.new`, `${settingOf(offset, rate)}\n`);
  renameSync(`${file}.new`, file);
}

function settingOf(offset: string, rate: number | undefined): string {
  if (!/^[+-]\d+(\.\d+)?[smhd]?$/.test(offset)) throw new Error(`${offset} is no offset such as +1h or -90`);
  if (rate === undefined) return offset;
  if (!(rate > 0)) throw new Error(`${rate} is no rate of a clock`);
  return `${offset} x${rate}`;
}
