import { describe, expect, test } from '@jest/globals';
import { ClusterError, createSilentLogger } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { createTaskReader } from '@a2a-cluster/task-store';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createRetention, resolveRetentionOptions } from '../src/index.js';
import { breaking, createEndedTask, createHarness, eventsOf } from './harness.js';

const A_DAY_MS = 24 * 3_600_000;
const NOTHING = { compacted: 0, events: 0, tasks: 0, failed: 0 };

function createWorld(): { readonly clock: FakeClock; readonly db: Database } {
  const clock = createFakeClock();
  return { clock, db: createMemoryDatabase({ clock }) };
}

describe('a pass', () => {
  test('takes the events of tasks that ended long enough ago; what readers see stays the same', async () => {
    const { clock, db } = createWorld();
    const { retention, tally } = createHarness({ database: db, clock, retention: { eventsMs: A_DAY_MS } });
    await createEndedTask(db, { taskId: 'folded', chunks: 3 });
    await createEndedTask(db, { taskId: 'stored', snapshot: true });
    const reader = createTaskReader({ database: db });
    const before = [await reader.read({ taskId: 'folded' }), await reader.read({ taskId: 'stored' })];
    await clock.advance(A_DAY_MS);
    expect(await retention.runOnce()).toEqual(NOTHING);
    await clock.advance(1);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, compacted: 2, events: 8 });
    expect(await retention.runOnce()).toEqual(NOTHING);
    expect([await eventsOf(db, 'folded'), await eventsOf(db, 'stored')]).toEqual([0, 0]);
    const after = [await reader.read({ taskId: 'folded' }), await reader.read({ taskId: 'stored' })];
    expect(after).toEqual(before);
    expect(JSON.stringify(after[0]?.task)).toContain('2;');
    expect(tally.total('pruned_total', { what: 'events' })).toBe(8);
    expect(tally.total('pruned_total', { what: 'tasks' })).toBe(0);
    await retention.close();
  });

  test('deletes tasks once their own time is over', async () => {
    const { clock, db } = createWorld();
    const times = { eventsMs: A_DAY_MS, tasksMs: 7 * A_DAY_MS };
    const { retention, tally } = createHarness({ database: db, clock, retention: times });
    await createEndedTask(db, { taskId: 'a' });
    await clock.advance(A_DAY_MS + 1);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, compacted: 1, events: 3 });
    await clock.advance(6 * A_DAY_MS);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, tasks: 1 });
    expect(await db.log.readTask({ taskId: 'a' })).toBeNull();
    expect(tally.total('pruned_total', { what: 'tasks' })).toBe(1);
    await retention.close();
  });

  test('takes a log that is longer than a statement may delete in several', async () => {
    const { clock, db } = createWorld();
    const { retention } = createHarness({ database: db, clock, retention: { batchSize: 1 } });
    await createEndedTask(db, { taskId: 'long', chunks: 33 });
    await createEndedTask(db, { taskId: 'short' });
    await clock.advance(2);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, compacted: 2, events: 38 });
    expect(await eventsOf(db, 'long')).toBe(0);
    await retention.close();
  });

  test('purges a long log in several statements too', async () => {
    const { clock, db } = createWorld();
    const times = { eventsMs: 1, tasksMs: 1, batchSize: 2 };
    const { retention } = createHarness({ database: onlyPurges(db), clock, retention: times });
    for (const taskId of ['a', 'b', 'c']) await createEndedTask(db, { taskId, chunks: 48 });
    await clock.advance(2);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, tasks: 3, events: 150 });
    await retention.close();
  });
});

describe('a task that cannot be pruned', () => {
  test('does not keep the others, is reported once, and is left out of the next passes', async () => {
    const { clock, db } = createWorld();
    const broken = new Set(['bad']);
    const { retention, logged } = createHarness({ database: breaking(db, broken), clock });
    for (const taskId of ['a', 'b', 'bad', 'c', 'd']) await createEndedTask(db, { taskId });
    await clock.advance(2);
    expect(await retention.runOnce()).toEqual({ compacted: 4, events: 12, tasks: 0, failed: 1 });
    expect(await eventsOf(db, 'bad')).toBe(3);
    expect(await retention.runOnce()).toEqual(NOTHING);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, failed: 1 });
    const reports = logged.filter(({ level }) => level === 'error');
    expect(reports.map(({ fields }) => fields)).toMatchObject([
      { taskId: 'bad', failures: 1 },
      { taskId: 'bad', failures: 2 },
    ]);
    broken.clear();
    for (let passes = 0; passes < 4; passes += 1) await retention.runOnce();
    expect(await eventsOf(db, 'bad')).toBe(0);
    await retention.close();
  });

  test('keeps its events where it cannot be read', async () => {
    const { clock, db } = createWorld();
    const { retention } = createHarness({ database: db, clock });
    await createEndedTask(db, { taskId: 'corrupt', poison: true });
    await createEndedTask(db, { taskId: 'fine' });
    await clock.advance(2);
    expect(await retention.runOnce()).toEqual({ ...NOTHING, compacted: 1, events: 3, failed: 1 });
    expect(await eventsOf(db, 'corrupt')).toBe(3);
    await retention.close();
  });

  test('is not searched for where nothing works', async () => {
    const { clock, db } = createWorld();
    const ids = Array.from({ length: 200 }, (_, at) => `t${at}`);
    for (const taskId of ids) await createEndedTask(db, { taskId });
    await clock.advance(2);
    let calls = 0;
    const database = breaking(db, new Set(ids));
    const { compact } = database.retention;
    database.retention.compact = (compaction) => ((calls += 1), compact(compaction));
    const { retention } = createHarness({ database, clock });
    await expect(retention.runOnce()).rejects.toThrow('cannot be written');
    expect(calls).toBeLessThan(40);
    await retention.close();
  });
});

describe('the service', () => {
  test('makes a pass soon after its start, then one per interval, and none once it is closed', async () => {
    const { clock, db } = createWorld();
    const passes: number[] = [];
    const database = counting(db, () => passes.push(clock.monotonicMs()));
    const { retention } = createHarness({
      database,
      clock,
      retention: { eventsMs: A_DAY_MS },
      random: () => 0.5,
    });
    await retention.start();
    for (let minutes = 0; minutes < 125; minutes += 1) await clock.advance(60_000);
    expect(passes).toHaveLength(3);
    expect(passes[0]).toBeLessThanOrEqual(passes[1]! - 3_500_000);
    await retention.close();
    await clock.advance(2 * A_DAY_MS);
    expect(passes).toHaveLength(3);
  });

  test('does nothing while another replica does it', async () => {
    const { clock, db } = createWorld();
    const passes: number[] = [];
    let mine = false;
    const database = counting(db, () => passes.push(1));
    const { retention } = createHarness({
      database,
      clock,
      retention: { eventsMs: 4_000 },
      mayRun: () => mine,
    });
    await retention.start();
    for (let seconds = 0; seconds < 30; seconds += 1) await clock.advance(1_000);
    expect(passes).toEqual([]);
    mine = true;
    await clock.advance(2_000);
    expect(passes).not.toEqual([]);
    await retention.close();
  });

  test('asks again within a minute whether it may, however rare passes are', async () => {
    const { clock, db } = createWorld();
    let asked = 0;
    const { retention } = createHarness({
      ...{ database: db, clock },
      retention: { eventsMs: 86_400_000 },
      mayRun: () => {
        asked += 1;
        return false;
      },
    });
    await retention.start();
    for (let minutes = 0; minutes < 10; minutes += 1) await clock.advance(60_000);
    expect(asked).toBeGreaterThanOrEqual(9);
    await retention.close();
  });

  test('waits out a database that is away, says so, and goes on', async () => {
    const { clock, db } = createWorld();
    let away = true;
    const database: Database = {
      ...db,
      retention: {
        ...db.retention,
        find: async (step) => {
          if (away) throw new ClusterError('DATABASE_UNREACHABLE', 'nobody answers');
          return db.retention.find(step);
        },
      },
    };
    const { retention, logged } = createHarness({ database, clock, retention: { eventsMs: 400 } });
    await createEndedTask(db, { taskId: 'a' });
    await retention.start();
    await clock.advance(1_000);
    expect(logged.filter(({ message }) => message === 'pruning ended tasks failed')).not.toEqual([]);
    away = false;
    await clock.advance(1_000);
    expect(await eventsOf(db, 'a')).toBe(0);
    expect(logged.map(({ message }) => message)).toContain('pruning works again');
    await retention.close();
    await expect(retention.runOnce()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('does nothing where all is kept', async () => {
    const { clock, db } = createWorld();
    const database = counting(db, () => {
      throw new Error('nothing is due');
    });
    const { retention, logged } = createHarness({ database, clock, retention: { eventsMs: 0 } });
    await retention.start();
    await clock.advance(A_DAY_MS);
    expect(logged).toEqual([]);
    await retention.close();
  });
});

describe('the options', () => {
  const resolve = (options: Parameters<typeof resolveRetentionOptions>[0], embedded = false) =>
    resolveRetentionOptions(options, { embedded });

  test('events are kept for a day and tasks for ever, unless told otherwise', () => {
    expect(resolve({})).toMatchObject({
      eventsMs: A_DAY_MS,
      tasksMs: null,
      batchSize: 500,
      intervalMs: 3_600_000,
    });
    expect(resolve({}, true)).toMatchObject({ batchSize: 50, maxEvents: 500 });
    expect(resolve({ eventsMs: 400 })).toMatchObject({ eventsMs: 400, intervalMs: 100 });
    expect(resolve({ eventsMs: null, tasksMs: 0 })).toMatchObject({ eventsMs: null, tasksMs: null });
  });

  test.each([
    [{ eventsMs: 2_000, tasksMs: 1_000 }, ['2000', '1000']],
    [{ eventsMs: 0, tasksMs: 1_000 }, ['keeps events for ever', '1000']],
    [{ eventsMs: -1 }, ['retention.eventsMs is -1']],
    [{ tasksMs: 1.5 }, ['retention.tasksMs is 1.5']],
    [{ batchSize: 0, pauseMs: Number.NaN }, ['retention.batchSize is 0', 'retention.pauseMs is NaN']],
  ])('%j is refused, and the numbers are named', (options, texts) => {
    for (const text of texts) expect(() => resolve(options)).toThrow(text);
  });
});

/** Calls `onPass` at every beginning of a walk. */
function counting(db: Database, onPass: () => void): Database {
  const find: Database['retention']['find'] = (step) => {
    if (step.after === '') onPass();
    return db.retention.find(step);
  };
  return { ...db, retention: { ...db.retention, find } };
}

/** The walk over events finds nothing. */
function onlyPurges(db: Database): Database {
  const find: Database['retention']['find'] = async (step) =>
    step.due === 'events' ? { tasks: [], next: null } : db.retention.find(step);
  return { ...db, retention: { ...db.retention, find } };
}

describeServiceStress('a retention', (clock) => {
  const database = createMemoryDatabase({ clock });
  const options = resolveRetentionOptions({ eventsMs: 400 }, { embedded: false });
  const reader = createTaskReader({ database });
  return createRetention({ database, reader, options, clock, logger: createSilentLogger() });
});
