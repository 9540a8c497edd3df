import { describe, expect, test } from '@jest/globals';
import { createMemoryDatabase, type LeaseStatements, type ServerClock } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { createClockWatch, resolveLeaseOptions, type ClockWatch } from '../src/index.js';
import { createTask, pass, recordingLogger, type LogLine } from './harness.js';

/** A watch over a server whose clock can be set apart from local time. */
function create(): {
  readonly clock: FakeClock;
  readonly watch: ClockWatch;
  readonly server: {
    offsetMs: number;
    identity: string;
    delayMs: number;
    down: boolean;
    clampFails: boolean;
  };
  readonly clamps: number[];
  readonly logged: LogLine[];
  /** How many readings were sent. */
  reads(): number;
  pass(afterMs: number): Promise<void>;
} {
  const clock = createFakeClock();
  const server = { offsetMs: 0, identity: 'one', delayMs: 0, down: false, clampFails: false };
  const clamps: number[] = [];
  const logged: LogLine[] = [];
  let reads = 0;
  const leases: Pick<LeaseStatements, 'readClock' | 'clampFuture'> = {
    async readClock(): Promise<ServerClock> {
      reads += 1;
      if (server.down) throw new Error('connection refused');
      if (server.delayMs > 0) await pass(clock, server.delayMs);
      return { nowMs: 1e12 + clock.monotonicMs() + server.offsetMs, identity: server.identity };
    },
    async clampFuture() {
      if (server.clampFails) throw new Error('deadlock');
      clamps.push(clock.monotonicMs());
      return 0;
    },
  };
  const options = resolveLeaseOptions();
  const watch = createClockWatch({ leases, options, clock, logger: recordingLogger(logged) });
  const observe = async (afterMs: number): Promise<void> => {
    await clock.advance(afterMs);
    const seen = watch.observe().catch(() => {});
    await clock.advance(server.delayMs);
    await seen;
  };
  return { clock, watch, server, clamps, logged, reads: () => reads, pass: observe };
}

describe('a clock watch', () => {
  test('takes the first reading for a baseline and is not quiet while both clocks agree', async () => {
    const w = create();
    w.server.offsetMs = -3_600_000;
    for (let at = 0; at < 10; at += 1) {
      await w.pass(5_000);
      expect(w.watch.quiet()).toBe(false);
    }
    expect(w.clamps).toEqual([5_000]);
  });

  test.each([3_600_000, -3_600_000, 1_001, -1_001])(
    'is quiet for one TTL after a step of %d ms',
    async (step) => {
      const w = create();
      await w.pass(0);
      w.server.offsetMs += step;
      await w.pass(5_000);
      expect(w.watch.quietRemainingMs()).toBe(15_000);
      await w.clock.advance(14_999);
      expect(w.watch.quiet()).toBe(true);
      await w.clock.advance(1);
      expect(w.watch.quiet()).toBe(false);
      expect(w.watch.quietRemainingMs()).toBe(0);
    },
  );

  test('tolerates a second, and the round trips of both readings beside it', async () => {
    const w = create();
    w.server.delayMs = 400;
    await w.pass(0);
    w.server.offsetMs += 1_790;
    await w.pass(4_600);
    expect(w.watch.quiet()).toBe(false);
    w.server.offsetMs += 1_810;
    await w.pass(4_600);
    expect(w.watch.quiet()).toBe(true);
  });

  test('asks anew for whoever claims outside a pass', async () => {
    const w = create();
    await w.pass(0);
    expect(await w.watch.freshlyQuiet()).toBe(false);
    w.server.offsetMs += 60_000;
    expect(w.watch.quiet()).toBe(false);
    expect(await w.watch.freshlyQuiet()).toBe(true);
    await w.clock.advance(15_000);
    expect(await w.watch.freshlyQuiet()).toBe(false);
  });

  test('lets nothing be claimed outside a pass by a first reading, nor by one that failed', async () => {
    const w = create();
    expect(await w.watch.freshlyQuiet()).toBe(true);
    expect(await w.watch.freshlyQuiet()).toBe(false);
    w.server.down = true;
    expect(await w.watch.freshlyQuiet()).toBe(true);
    w.server.down = false;
    expect(await w.watch.freshlyQuiet()).toBe(false);
  });

  test('begins a reading after the one under way, once for all who ask meanwhile', async () => {
    const w = create();
    await w.pass(0);
    w.server.delayMs = 100;
    const pass = w.watch.observe();
    // The reading under way was sent before the step.
    await w.clock.advance(50);
    const asked = [w.watch.freshlyQuiet(), w.watch.freshlyQuiet()];
    expect(w.reads()).toBe(2);
    await w.clock.advance(50);
    await pass;
    w.server.offsetMs += 60_000;
    await w.clock.advance(100);
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(w.reads()).toBe(3);
  });

  test('reads again after a reading under way that fails', async () => {
    const w = create();
    await w.pass(0);
    w.server.delayMs = 10_000;
    const hanging = w.watch.observe();
    const refused = expect(hanging).rejects.toThrow('no answer');
    const asked = w.watch.freshlyQuiet();
    w.server.delayMs = 0;
    await w.clock.advance(3_000);
    await refused;
    expect(await asked).toBe(false);
  });

  test('is quiet when another server answers', async () => {
    const w = create();
    await w.pass(0);
    w.server.identity = 'two';
    await w.pass(5_000);
    expect(w.watch.quiet()).toBe(true);
    expect(w.logged).toHaveLength(1);
  });

  test('is quiet from the first good reading on after failed reads for longer than a live turn survives', async () => {
    const w = create();
    await w.pass(0);
    w.server.down = true;
    await w.pass(2_000);
    await w.pass(2_000);
    w.server.down = false;
    await w.pass(1_501);
    expect(w.watch.quietRemainingMs()).toBe(15_000);
  });

  test('is not quiet after a shorter silence, nor for the ordinary pause between passes', async () => {
    const w = create();
    await w.pass(0);
    w.server.down = true;
    await w.pass(2_000);
    w.server.down = false;
    await w.pass(3_500);
    expect(w.watch.quiet()).toBe(false);
    await w.pass(6_000);
    expect(w.watch.quiet()).toBe(false);
  });

  test('counts a read that failed elsewhere, a slow one, and a pause that no schedule explains', async () => {
    const failed = create();
    await failed.pass(0);
    failed.watch.noteReadFailure();
    await failed.pass(5_501);
    expect(failed.watch.quiet()).toBe(true);

    const slow = create();
    await slow.pass(0);
    slow.server.delayMs = 1_500;
    await slow.pass(4_500);
    expect(slow.watch.quiet()).toBe(true);

    const stopped = create();
    await stopped.pass(0);
    stopped.clock.stall(11_501);
    await stopped.pass(0);
    expect(stopped.watch.quiet()).toBe(true);
  });

  test('rejects and notes it when the reading fails or hangs', async () => {
    const w = create();
    w.server.down = true;
    await expect(w.watch.observe()).rejects.toThrow('refused');
    w.server.down = false;
    w.server.delayMs = 10_000;
    const hanging = w.watch.observe();
    const outcome = expect(hanging).rejects.toThrow('no answer within 3000 ms');
    await w.clock.advance(3_000);
    await outcome;
  });

  test('is not prolonged by a second cause within two TTLs, and begins anew after that', async () => {
    const w = create();
    await w.pass(0);
    w.server.identity = 'two';
    await w.pass(1_000);
    w.server.identity = 'three';
    await w.pass(5_000);
    expect(w.watch.quietRemainingMs()).toBe(10_000);
    w.server.offsetMs += 60_000;
    for (let at = 0; at < 4; at += 1) await w.pass(5_000);
    expect(w.watch.quiet()).toBe(false);
    for (let at = 0; at < 2; at += 1) await w.pass(5_000);
    w.server.identity = 'four';
    await w.pass(0);
    expect(w.watch.quietRemainingMs()).toBe(15_000);
  });

  test('cuts far expiries at the start, once after the quiet period, and again only after another', async () => {
    const w = create();
    await w.pass(0);
    w.server.offsetMs -= 3_600_000;
    await w.pass(5_000);
    for (let at = 0; at < 10; at += 1) await w.pass(5_000);
    expect(w.clamps).toEqual([0, 20_000]);
    w.server.identity = 'two';
    await w.pass(1_000);
    for (let at = 0; at < 10; at += 1) await w.pass(5_000);
    expect(w.clamps).toHaveLength(3);
  });

  test('tries the cut again when it failed', async () => {
    const w = create();
    await w.pass(0);
    w.server.identity = 'two';
    await w.pass(1_000);
    w.server.clampFails = true;
    await w.clock.advance(15_000);
    await expect(w.watch.observe()).rejects.toThrow('deadlock');
    w.server.clampFails = false;
    await w.pass(5_000);
    expect(w.clamps).toHaveLength(2);
  });

  test('ends leases that a clock stepping back would have kept alive', async () => {
    const clock = createFakeClock();
    const db = createMemoryDatabase({ clock });
    const logged: LogLine[] = [];
    let identity = 'one';
    const leases = {
      readClock: async () => ({ ...(await db.leases.readClock()), identity }),
      clampFuture: db.leases.clampFuture,
    };
    const options = resolveLeaseOptions();
    const watch = createClockWatch({ leases, options, clock, logger: recordingLogger(logged) });
    await watch.observe();
    await createTask(db, { taskId: 'far', ttlMs: 3_600_000 });
    identity = 'two';
    await watch.observe();
    await clock.advance(15_000);
    await watch.observe();
    expect(await db.leases.nextExpiry()).toBe(15_000);
    expect(logged.map((line) => line.message)).toContain('leases that expired in the far future were cut');
  });

  test('ends leases of a clock that stepped back before this replica came, whoever saw it gone', async () => {
    const clock = createFakeClock();
    const db = createMemoryDatabase({ clock });
    await createTask(db, { taskId: 'far', ttlMs: 3_600_000 });
    const options = resolveLeaseOptions();
    const watch = createClockWatch({ leases: db.leases, options, clock, logger: recordingLogger([]) });
    await watch.observe();
    expect(watch.quiet()).toBe(false);
    expect(await db.leases.nextExpiry()).toBe(15_000);
  });
});
