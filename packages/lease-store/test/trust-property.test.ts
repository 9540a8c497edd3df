import { describe, expect, test } from '@jest/globals';
import { createSilentLogger } from '@a2a-cluster/core';
import { createMemoryDatabase, type LeaseStatements } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import fc from 'fast-check';
import { createHeartbeat, resolveLeaseOptions } from '../src/index.js';
import { createTask, HOLDER, pass, watch, type Watched } from './harness.js';

/** What becomes of one statement: how long it travels each way, and whether it or its answer gets lost. */
interface Fate {
  readonly thereMs: number;
  readonly backMs: number;
  readonly lost: 'none' | 'request' | 'answer' | 'hang';
}

interface TimePasses {
  readonly kind: 'advance' | 'stall';
  readonly ms: number;
}

interface HolderActs {
  readonly kind: 'acquire' | 'release' | 'end' | 'endingOn' | 'endingOff' | 'renewNow';
  readonly pick: number;
}

type Step = TimePasses | HolderActs | { readonly kind: 'sweep' };

const fate: fc.Arbitrary<Fate> = fc.record({
  thereMs: fc.oneof({ weight: 4, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(4_000) }),
  backMs: fc.oneof({ weight: 4, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(4_000) }),
  lost: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'request', 'answer', 'hang'),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.nat(4_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stall' as const), ms: fc.nat(20_000) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom<HolderActs['kind'][]>(
        'acquire',
        'acquire',
        'release',
        'end',
        'endingOn',
        'endingOff',
        'renewNow',
      ),
      pick: fc.nat(7),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'sweep' as const }) },
);

/** Every statement meets the next fate of the list, over and over. */
function unreliable(options: {
  readonly leases: LeaseStatements;
  readonly clock: FakeClock;
  readonly fates: readonly Fate[];
}): LeaseStatements {
  const { leases, clock, fates } = options;
  let at = 0;
  const call = async <T>(run: () => Promise<T>): Promise<T> => {
    const { thereMs, backMs, lost } = fates[at++ % fates.length] as Fate;
    await pass(clock, thereMs);
    if (lost === 'request') throw new Error('connection refused');
    const answer = await run();
    if (lost === 'hang') return new Promise<T>(() => {});
    await pass(clock, backMs);
    if (lost === 'answer') throw new Error('connection reset');
    return answer;
  };
  return {
    ...leases,
    beat: (beat) => call(() => leases.beat(beat)),
    beatOne: (beat) => call(() => leases.beatOne(beat)),
    readLeases: (ids) => call(() => leases.readLeases(ids)),
    release: (lease) => call(() => leases.release(lease)),
  };
}

/** Plays one history and checks after every step that trust never outlives the row. */
async function play(fates: readonly Fate[], steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock();
  const db = createMemoryDatabase({ clock });
  const options = resolveLeaseOptions();
  const leases = unreliable({ leases: db.leases, clock, fates });
  const logger = createSilentLogger();
  const heartbeat = createHeartbeat({ leases, holder: HOLDER, options, clock, logger });
  const all: Watched[] = [];
  await heartbeat.start();
  const act = async (one: Step): Promise<void> => {
    if (one.kind === 'sweep') return sweep(db);
    if ('ms' in one) return one.kind === 'advance' ? clock.advance(one.ms) : clock.stall(one.ms);
    if (one.kind === 'acquire') return acquire();
    const held = all[one.pick % all.length]?.held;
    if (one.kind === 'release') void held?.release();
    else if (one.kind === 'end') held?.end();
    else if (one.kind === 'renewNow') void held?.renewNow();
    else held?.ending(one.kind === 'endingOn');
  };
  const acquire = async (): Promise<void> => {
    const key = { taskId: `task ${all.length}`, epoch: 1 };
    const sentAtMs = clock.monotonicMs();
    await createTask(db, { taskId: key.taskId, ttlMs: options.ttlMs });
    all.push(watch(heartbeat, { key, sentAtMs, clock }));
  };
  for (const one of [{ kind: 'acquire', pick: 0 } as const, ...steps]) {
    await act(one);
    for (const lease of all) await checkTrust({ db, lease, marginMs: options.marginMs });
  }
  await heartbeat.close();
}

async function sweep(db: ReturnType<typeof createMemoryDatabase>): Promise<void> {
  const statusTimestamp = '2026-01-01T00:00:00.000Z';
  await db.journal.sweep({ limit: 100, sweeper: 'replica-b', statusTimestamp, text: 'lost' });
}

/** The holder's own deadline lies a margin before the expiry by the database, now and not only when it is near. */
async function checkTrust(check: {
  readonly db: ReturnType<typeof createMemoryDatabase>;
  readonly lease: Watched;
  readonly marginMs: number;
}): Promise<void> {
  const { db, lease, marginMs } = check;
  expect(lease.lost.length).toBeLessThan(2);
  if (!lease.held.isHeld()) return;
  expect(lease.lost).toEqual([]);
  const row = (await db.journal.look({ taskId: lease.key.taskId }))?.lease;
  expect(row).toMatchObject({ holder: HOLDER, epoch: lease.key.epoch });
  expect((row?.remainingMs ?? 0) - lease.held.remainingMs()).toBeGreaterThanOrEqual(marginMs);
}

describe('trust in a lease', () => {
  test('never outlives the row in the database, whatever becomes of the statements', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 40 }),
        fc.array(step, { maxLength: 40 }),
        play,
      ),
      { numRuns: 150 },
    );
  });
});
