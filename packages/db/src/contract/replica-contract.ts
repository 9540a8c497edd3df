import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { statsOf } from '../statements/replica-rows.js';
import type { ReplicaEntry, ReplicaListing, ReplicaStats } from '../statements/replica-statements.js';
import type { ContractContext } from './context.js';
import { LONG_TTL_MS } from './context.js';

/** The table of replicas. */
export function describeReplicas(context: ContractContext): void {
  describe('the table of replicas', () => {
    beforeEach(() => clear(context));
    describeEntries(context);
    describeReports(context);
    describePauses(context);
    describeEnds(context);
  });
  describe('stats of a replica', () => describeStats());
}

const DAY_MS = 86_400_000;
const ZERO = statsOf('{}');

function entry(more: Partial<ReplicaEntry> = {}): ReplicaEntry {
  const identity = { version: '1.2.3', host: 'host-ä', pid: 4_711, heartbeatMs: 5_000 };
  return { replicaId: `replica-${randomUUID()}`, ...identity, phase: 'running', stats: ZERO, ...more };
}

async function enter(context: ContractContext, more: Partial<ReplicaEntry> = {}): Promise<ReplicaEntry> {
  const replica = entry(more);
  await context.db.replicas.register(replica);
  return replica;
}

async function look(context: ContractContext, replicaId: string): Promise<ReplicaListing | undefined> {
  const listed = await context.second.replicas.list();
  return listed.find((replica) => replica.replicaId === replicaId);
}

async function clear({ db }: ContractContext): Promise<void> {
  for (let left = await db.replicas.list(); left.length > 0; left = await db.replicas.list())
    for (const { replicaId } of left) await db.replicas.remove(replicaId);
}

function describeEntries(context: ContractContext): void {
  test('is empty at first', async () => {
    expect(await context.db.replicas.list()).toEqual([]);
  });

  test('has what a replica says of itself, with ages by the clock of the database', async () => {
    const stats = { ...ZERO, runningTurns: 3, pushDelivered: 2 ** 40 };
    const { replicaId } = await enter(context, { stats, phase: 'starting' });
    const { upMs, beatAgeMs, ...rest } = (await look(context, replicaId))!;
    const { version, host, pid, heartbeatMs } = entry();
    expect(rest).toEqual({
      ...{ replicaId, version, host, pid, heartbeatMs },
      ...{ phase: 'starting', stats, pauseRequested: false },
    });
    expect(upMs).toBeGreaterThanOrEqual(0);
    expect(beatAgeMs).toBeLessThan(60_000);
    await context.tamper.ageReplica(replicaId, DAY_MS);
    const aged = await look(context, replicaId);
    expect(Math.min(aged!.upMs, aged!.beatAgeMs)).toBeGreaterThanOrEqual(DAY_MS);
    expect(Math.max(aged!.upMs, aged!.beatAgeMs)).toBeLessThan(DAY_MS + 60_000);
  });

  test('takes a replica that has run for a while', async () => {
    const { replicaId } = await enter(context, { upMs: 90_000.5 });
    const { upMs, beatAgeMs } = (await look(context, replicaId))!;
    expect(upMs).toBeGreaterThanOrEqual(90_000);
    expect(upMs).toBeLessThan(150_000);
    expect(beatAgeMs).toBeLessThan(60_000);
  });

  test('replaces a row that is there', async () => {
    const first = await enter(context, { phase: 'running' });
    await enter(context, { ...first, pid: 2, version: '2.0.0', phase: 'draining' });
    const listed = await context.db.replicas.list();
    expect(listed).toMatchObject([
      { replicaId: first.replicaId, pid: 2, version: '2.0.0', phase: 'draining' },
    ]);
  });

  test('gives the youngest first', async () => {
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      made.unshift((await enter(context)).replicaId);
      await context.tick();
    }
    expect((await context.db.replicas.list()).map(({ replicaId }) => replicaId)).toEqual(made);
  });
}

function describeReports(context: ContractContext): void {
  test('a report is written, and answered with every replica', async () => {
    const one = await enter(context);
    const other = await enter(context);
    await context.tamper.ageReplica(one.replicaId, DAY_MS);
    const stats = { ...ZERO, heldLeases: 7 };
    const { replicaId } = one;
    const read = await context.db.replicas.report({ replicaId, phase: 'draining', stats });
    expect(read.map((replica) => replica.replicaId)).toEqual([other.replicaId, replicaId]);
    expect(read[1]).toMatchObject({ phase: 'draining', stats });
    expect(read[1]?.beatAgeMs).toBeLessThan(60_000);
    expect(read[1]?.upMs).toBeGreaterThanOrEqual(DAY_MS);
    expect(await look(context, replicaId)).toMatchObject({ phase: 'draining', stats });
    expect(await look(context, other.replicaId)).toMatchObject({ phase: 'running', stats: ZERO });
  });

  test('a report without a row makes none', async () => {
    const other = await enter(context);
    const read = await context.db.replicas.report({ replicaId: 'nobody', phase: 'running', stats: ZERO });
    expect(read.map(({ replicaId }) => replicaId)).toEqual([other.replicaId]);
    expect(await context.db.replicas.list()).toHaveLength(1);
  });

  test('of more replicas than are given, a report has its own all the same', async () => {
    const oldest = await enter(context, { upMs: DAY_MS });
    const others = Array.from({ length: 1_001 }, () => entry());
    for (let at = 0; at < others.length; at += 50)
      await Promise.all(others.slice(at, at + 50).map((one) => context.db.replicas.register(one)));
    const listed = await context.db.replicas.list();
    expect(listed).toHaveLength(1_000);
    expect(listed.some(({ replicaId }) => replicaId === oldest.replicaId)).toBe(false);
    const read = await context.db.replicas.report({ ...oldest, phase: 'running' });
    expect(read.length).toBeGreaterThanOrEqual(1_000);
    expect(read.at(-1)?.replicaId).toBe(oldest.replicaId);
  }, 60_000);

  test('a beat carries a report where that costs no statement, and its leases know nothing of it', async () => {
    const carries = context.db.provider === 'postgresql';
    const { replicaId } = await enter(context);
    const { taskId, holder, epoch } = await context.makeTask({ holder: replicaId });
    const beat = { holder, ttlMs: LONG_TTL_MS, leases: [{ taskId, epoch }] };
    const stats = { ...ZERO, heldLeases: 1 };
    const report = { replicaId, phase: 'draining', stats } as const;
    const renewed = [{ taskId, epoch, cancelAgeMs: null }];
    await context.tamper.ageReplica(replicaId, DAY_MS);
    expect(await context.db.leases.beat({ ...beat, report })).toEqual(renewed);
    const seen = await look(context, replicaId);
    expect(seen).toMatchObject(carries ? { phase: 'draining', stats } : { phase: 'running', stats: ZERO });
    expect((seen?.beatAgeMs ?? 0) < 60_000).toBe(carries);
    await context.db.replicas.remove(replicaId);
    expect(await context.db.leases.beat({ ...beat, report })).toEqual(renewed);
    expect(await context.db.replicas.list()).toEqual([]);
  });
}

function describePauses(context: ContractContext): void {
  test('a pause is asked for and taken back', async () => {
    const { replicaId } = await enter(context);
    const asked = async (paused: boolean): Promise<boolean | undefined> => {
      expect(await context.second.replicas.requestPause({ replicaId, paused })).toBe(true);
      return (await look(context, replicaId))?.pauseRequested;
    };
    expect(await asked(true)).toBe(true);
    expect(await asked(true)).toBe(true);
    expect(await asked(false)).toBe(false);
    expect(await asked(false)).toBe(false);
  });

  test('a report tells of it and leaves it as it is', async () => {
    const { replicaId } = await enter(context);
    await context.db.replicas.requestPause({ replicaId, paused: true });
    const [own] = await context.db.replicas.report({ replicaId, phase: 'running', stats: ZERO });
    expect(own?.pauseRequested).toBe(true);
  });

  test('nobody is asked where there is no such replica', async () => {
    await enter(context);
    for (const replicaId of ['nobody', '', 'a\u0000b', '\ud800', 'x'.repeat(192), 'ends in a space '])
      expect(await context.db.replicas.requestPause({ replicaId, paused: true })).toBe(false);
    expect(await context.db.replicas.list()).toMatchObject([{ pauseRequested: false }]);
  });

  test('it outlives a new registration, and the loss of the row of one that is paused', async () => {
    const one = await enter(context);
    await context.db.replicas.requestPause({ replicaId: one.replicaId, paused: true });
    await enter(context, one);
    expect(await look(context, one.replicaId)).toMatchObject({ pauseRequested: true });
    await context.db.replicas.remove(one.replicaId);
    await enter(context, { ...one, phase: 'paused' });
    expect(await look(context, one.replicaId)).toMatchObject({ phase: 'paused', pauseRequested: true });
    await context.db.replicas.remove(one.replicaId);
    await enter(context, one);
    expect(await look(context, one.replicaId)).toMatchObject({ pauseRequested: false });
  });
}

function describeEnds(context: ContractContext): void {
  test('a replica that has closed takes its row away, and only its own', async () => {
    const [one, other] = [await enter(context), await enter(context)];
    await context.db.replicas.remove(one.replicaId);
    await context.db.replicas.remove(one.replicaId);
    expect(await context.db.replicas.list()).toMatchObject([{ replicaId: other.replicaId }]);
  });

  test('those without a report for so long are forgotten, some at a time', async () => {
    const { replicas } = context.db;
    const old = Array.from({ length: 101 }, () => entry());
    for (const one of old) await replicas.register(one);
    for (const { replicaId } of old) await context.tamper.ageReplica(replicaId, DAY_MS);
    const alive = await enter(context);
    expect(await replicas.forget(2 * DAY_MS)).toBe(0);
    expect(await replicas.forget(DAY_MS / 2)).toBe(100);
    expect(await replicas.forget(DAY_MS / 2)).toBe(1);
    expect(await replicas.forget(DAY_MS / 2)).toBe(0);
    expect(await replicas.list()).toMatchObject([{ replicaId: alive.replicaId }]);
  });
}

function describeStats(): void {
  test.each<[string, Partial<ReplicaStats>]>([
    ['{"runningTurns":2,"turnsBent":5}', { runningTurns: 2 }],
    ['{"runningTurns":"many","heldLeases":null}', {}],
    ['[1,2]', {}],
    ['no JSON', {}],
    ['null', {}],
  ])('of another version are read as far as they are known: %s', (text, known) => {
    expect(statsOf(text)).toEqual({ ...ZERO, ...known });
  });
}
