import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';
import { findProgram } from './programs.js';

const SOURCE = path.join(workspaceRoot, 'test/faults/native/step-clock.c');

/** A wall clock that can be stepped under a running server. */
export interface StepClock {
  /** What the server is started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Steps it by so much more, forwards or backwards; at once, for every process that was started with `env`. */
  step(ms: number): void;
  /** How far it is ahead of the machine's. */
  aheadMs(): number;
}

/** Which package is missing for {@link createStepClock}, or null. */
export function missingStepClock(): string | null {
  if (process.platform !== 'linux') return 'a clock to step: only on Linux';
  return compiler() === null ? 'a C compiler (Debian package gcc, libc6-dev)' : null;
}

function compiler(): string | null {
  return findProgram('cc') ?? findProgram('gcc');
}

/** Compiles what is preloaded into the server (some 0.2 s) into a folder its user may read. */
export function createStepClock(folder: string): StepClock {
  const missing = missingStepClock();
  if (missing !== null) throw new Error(`missing: ${missing}`);
  const library = path.join(folder, 'step-clock.so');
  const args = ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl', '-lpthread'];
  const { status, stderr } = spawnSync(compiler() as string, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${SOURCE} does not compile:\n${stderr}`);
  const file = path.join(folder, 'step-clock');
  writeFileSync(file, Buffer.alloc(8), { mode: 0o644 });
  let aheadMs = 0;
  return {
    env: { LD_PRELOAD: library, STEP_CLOCK_FILE: file },
    step(ms) {
      aheadMs += ms;
      const ns = Buffer.alloc(8);
      // The byte order of every machine this runs on.
      ns.writeBigInt64LE(BigInt(Math.round(aheadMs)) * 1_000_000n);
      // In place: the servers have mapped this very file.
      const handle = openSync(file, 'r+');
      writeSync(handle, ns, 0, 8, 0);
      closeSync(handle);
    },
    aheadMs: () => aheadMs,
  };
}
