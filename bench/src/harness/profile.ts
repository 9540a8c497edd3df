import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import path from 'node:path';

/** What is profiled. */
export interface Profiled<T> {
  readonly folder: string;
  /** The file is `<name>.cpuprofile`. */
  readonly name: string;
  readonly work: () => Promise<T>;
}

/** Runs the work under V8's sampling profiler and writes what it saw, also when the work fails. */
export async function profiled<T>({ folder, name, work }: Profiled<T>): Promise<T> {
  mkdirSync(folder, { recursive: true });
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  try {
    return await work();
  } finally {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    writeFileSync(path.join(folder, `${name}.cpuprofile`), JSON.stringify(profile));
  }
}
