import { describe, expect, test } from '@jest/globals';
import type { PushKey, PushSettlement } from '../statements/push-queue.js';
import type { ContractContext } from './context.js';
import { CLAIMANT, PushContext } from './push-context.js';

/** What becomes of claimed deliveries (protocol 9). */
export function describeSettlements(context: ContractContext): void {
  const push = new PushContext(context);
  describe('a settlement', () => describeSettlement(push));
  describe('the end of a claim', () => describeEnd(push));
  describe('a failed attempt', () => describeRetry(push));
  describe('settlements of several replicas', () => describeRaces(push));
  describe('the body of an event', () => describeBody(push));
}

const RETRY = { kind: 'retry', delayMs: 60_000, error: 'answered 503' } as const;

function describeSettlement(push: PushContext): void {
  const { context } = push;

  test('of a claim that another has by now stores nothing', async () => {
    const one = await push.waiting();
    const old = await push.claim(one);
    await push.age(one, CLAIMANT.ttlMs + 1);
    const { claimed } = await context.second.pushQueue.claimOf({
      ...{ holder: 'replica-b', ttlMs: CLAIMANT.ttlMs, taskIds: [one.taskId] },
    });
    expect(claimed).toMatchObject([{ claim: 2 }]);
    const before = await push.look(one);
    expect(await push.settle(old, { position: 2, delivered: true })).toBe(false);
    expect(await push.settle(old, { next: RETRY })).toBe(false);
    const { dueInMs, ...after } = await push.look(one);
    expect(after).toMatchObject({ position: 1, attempts: 0, holder: 'replica-b', lastError: null });
    expect(dueInMs).toBeLessThanOrEqual(before.dueInMs ?? 0);
  });

  test('of a claim that has expired counts as long as nobody has taken it', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.age(one, CLAIMANT.ttlMs + 1);
    expect(await push.settle(claim, { position: 2, delivered: true })).toBe(true);
    expect(await push.look(one)).toMatchObject({ position: 2, holder: null });
  });

  test('ends the claim, once', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    expect(await push.settle(claim)).toBe(true);
    expect(await push.settle(claim, { position: 2 })).toBe(false);
    expect(await push.look(one)).toMatchObject({ position: 1, holder: null });
  });

  test('may keep the claim for longer', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    const next = { kind: 'keep', ttlMs: 2 * CLAIMANT.ttlMs } as const;
    expect(await push.settle(claim, { position: 2, delivered: true, next })).toBe(true);
    const { dueInMs, ...rest } = await push.look(one);
    expect(rest).toMatchObject({ position: 2, holder: CLAIMANT.holder, status: 'active' });
    expect(dueInMs).toBeGreaterThan(CLAIMANT.ttlMs + 1_000);
    expect(await push.settle(claim)).toBe(true);
  });

  test('tells which of many were stored', async () => {
    const [held, stale, done] = [await push.waiting(), await push.waiting(), await push.waiting()];
    const claims = await Promise.all([held, stale, done].map((one) => push.claim(one)));
    const list = claims.map(({ taskId, configId, claim }, n): PushSettlement => {
      const next = n === 0 ? RETRY : ({ kind: 'release' } as const);
      return { taskId, configId, claim: n === 1 ? claim + 1 : claim, position: 2, delivered: n === 2, next };
    });
    const none = { taskId: 'none', configId: 'none', claim: 1, position: 9, delivered: false, next: RETRY };
    const stored = await context.db.pushQueue.settle([...list, none]);
    const keyOf = ({ taskId, configId }: PushKey): PushKey => ({ taskId, configId });
    expect(stored).toHaveLength(2);
    expect(new Set(stored.map(({ taskId }) => taskId))).toEqual(new Set([held.taskId, done.taskId]));
    expect(stored.map(keyOf)).toEqual(expect.arrayContaining([keyOf(held), keyOf(done)]));
    expect(await push.look(held)).toMatchObject({ position: 2, attempts: 1, holder: null });
    expect(await push.look(stale)).toMatchObject({ position: 1, holder: CLAIMANT.holder });
    expect(await push.look(done)).toMatchObject({ position: 2, attempts: 0, holder: null });
    expect(await context.db.pushQueue.settle([])).toEqual([]);
  });
}

function describeEnd(push: PushContext): void {
  const { context } = push;

  test('with events left makes them due at once, for everybody', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.commit(one.task);
    await push.settle(claim, { position: 2, delivered: true });
    expect((await push.look(one)).dueInMs).toBeLessThanOrEqual(0);
    await context.tamper.agePushes(one.taskId, 1);
    expect(await push.due([one])).toMatchObject([{ claim: 2, position: 2, version: 3 }]);
  });

  test('without events puts the config off, counted from the last that was delivered', async () => {
    const [moved, still] = [await push.waiting(), await push.waiting()];
    await push.age(moved, 200_000);
    await push.settle(await push.claim(moved), { position: 2, delivered: true });
    expect((await push.look(moved)).dueInMs).toBeLessThanOrEqual(5_000);
    expect((await push.look(moved)).dueInMs).toBeGreaterThan(3_000);
    const claim = await push.claim(still);
    await push.settle(claim, { position: 2, delivered: true, next: { kind: 'keep', ttlMs: 600_000 } });
    await push.age(still, 200_000);
    await push.settle(claim, { position: 2 });
    const { dueInMs } = await push.look(still);
    expect(dueInMs).toBeGreaterThan(45_000);
    expect(dueInMs).toBeLessThanOrEqual(51_000);
  });

  test('of the last event of a task is the end of its config', async () => {
    const [done, left] = [await push.waiting(), await push.waiting()];
    const claims = [await push.claim(done), await push.claim(left)];
    await Promise.all([push.complete(done.task), push.complete(left.task)]);
    const [first, second] = claims;
    if (!first || !second) throw new Error('not claimed');
    await push.settle(first, { position: 3, delivered: true });
    await push.settle(second, { position: 2, delivered: true });
    expect(await push.look(done)).toMatchObject({ status: 'done', dueInMs: null, holder: null });
    expect(await push.look(left)).toMatchObject({ status: 'active', position: 2, version: 3 });
  });

  test('never moves the position back', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    const next = { kind: 'keep', ttlMs: 60_000 } as const;
    await push.settle(claim, { position: 2, delivered: true, next });
    await push.settle(claim, { position: 1 });
    expect(await push.look(one)).toMatchObject({ position: 2 });
  });

  test('of a config that was removed meanwhile stores nothing', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await context.db.pushConfigs.remove(one.task);
    expect(await push.settle(claim, { position: 2, delivered: true })).toBe(false);
    expect(await context.db.pushQueue.list({ taskId: one.taskId, limit: 10 })).toEqual([]);
  });

  test('may disable a config, which waits until it is enabled', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.settle(claim, { next: { kind: 'disable', error: 'answered 410' } });
    const { position, status, lastError, holder, dueInMs } = await push.look(one);
    expect({ position, status, lastError }).toEqual({
      ...{ position: 1, status: 'disabled', lastError: 'answered 410' },
    });
    expect({ holder, dueInMs }).toEqual({ holder: null, dueInMs: null });
    await push.age(one, 3_600_000);
    expect(await push.due([one])).toEqual([]);
  });
}

function describeRetry(push: PushContext): void {
  test('is counted, and the time since the first of them', async () => {
    const one = await push.waiting();
    await push.settle(await push.claim(one), { next: RETRY });
    const { dueInMs, failingForMs, ...first } = await push.look(one);
    expect(first).toMatchObject({ attempts: 1, lastError: RETRY.error, holder: null, status: 'active' });
    expect(dueInMs).toBeGreaterThan(50_000);
    expect(dueInMs).toBeLessThanOrEqual(RETRY.delayMs);
    expect(failingForMs).toBeGreaterThanOrEqual(0);
    await push.age(one, RETRY.delayMs + 1);
    const [again] = await push.due([one]);
    if (!again) throw new Error('not due');
    expect(again).toMatchObject({ attempts: 1, position: 1 });
    expect(again.failingForMs).toBeGreaterThanOrEqual(RETRY.delayMs);
    await push.settle(again, { next: { ...RETRY, error: 'a\u0000b\ud800' } });
    const second = await push.look(one);
    expect(second).toMatchObject({ attempts: 2, lastError: 'ab\ufffd' });
    expect(second.failingForMs).toBeGreaterThanOrEqual(RETRY.delayMs);
  });

  test('is forgotten when an event is accepted', async () => {
    const one = await push.waiting();
    await push.settle(await push.claim(one), { next: RETRY });
    await push.commit(one.task);
    await push.age(one, RETRY.delayMs + 1);
    const [claim] = await push.due([one]);
    if (!claim) throw new Error('not due');
    await push.settle(claim, { position: 2, delivered: true, next: { kind: 'keep', ttlMs: 60_000 } });
    const clear = { attempts: 0, lastError: null, failingForMs: null };
    expect(await push.look(one)).toMatchObject({ ...clear, position: 2 });
    await push.settle(claim, { position: 2, delivered: true, next: RETRY });
    const again = await push.look(one);
    expect(again).toMatchObject({ attempts: 1, lastError: RETRY.error });
    expect(again.failingForMs).toBeLessThan(30_000);
  });

  test('waits also when more events come', async () => {
    const one = await push.waiting();
    await push.settle(await push.claim(one), { next: RETRY });
    await push.commit(one.task);
    expect(await push.due([one])).toEqual([]);
  });
}

function describeRaces(push: PushContext): void {
  const { context } = push;

  test('and their claims wait for nobody for long, and lose nothing', async () => {
    const keys = await push.many(60);
    const taskIds = keys.map(({ taskId }) => taskId);
    const work = async (db: typeof context.db, holder: string): Promise<number> => {
      let settled = 0;
      for (let round = 0; round < 12; round += 1) {
        const order = [...taskIds].sort(() => Math.random() - 0.5);
        const { claimed } = await db.pushQueue.claimOf({ holder, ttlMs: 60_000, taskIds: order });
        const list = claimed.map(({ taskId, configId, claim }): PushSettlement => {
          const next = { kind: 'release' } as const;
          return { taskId, configId, claim, position: 0, delivered: false, next };
        });
        settled += (await db.pushQueue.settle(list.reverse())).length;
        expect(settled).toBeGreaterThanOrEqual(0);
      }
      return settled;
    };
    const counts = await Promise.all([
      work(context.db, 'a'),
      work(context.second, 'b'),
      work(context.db, 'c'),
      work(context.second, 'd'),
    ]);
    const all = await Promise.all(keys.map((one) => push.claim(one)));
    // Each claim was settled by the one that had it: the numbers have no gap.
    const claims = all.reduce((sum, { claim }) => sum + claim - 1, 0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(claims);
  }, 60_000);
}

function describeBody(push: PushContext): void {
  const { context } = push;
  const body = JSON.stringify({ text: 'a\u0000b \u{1F600}' });

  test('is kept for the attempts to come, and given with the next claim', async () => {
    const one = await push.waiting();
    const { claim, ...first } = await push.claim(one);
    expect(await context.db.pushQueue.storeBody({ ...one, claim, seq: 2, body })).toBe(true);
    await push.settle({ ...first, claim }, { next: RETRY });
    await push.age(one, RETRY.delayMs + 1);
    expect(await push.due([one])).toMatchObject([{ body: { seq: 2, text: body } }]);
  });

  test('is forgotten when its event was accepted, or is passed over', async () => {
    const pushes = [await push.waiting(), await push.waiting(), await push.waiting()];
    for (const [n, one] of pushes.entries()) {
      const claim = await push.claim(one);
      await context.db.pushQueue.storeBody({ ...one, claim: claim.claim, seq: 2, body });
      await push.commit(one.task);
      const done = [{ position: 2, delivered: true }, { position: 2 }, { position: 1 }][n];
      await push.settle(claim, done ?? {});
    }
    const claims = await Promise.all(pushes.map((one) => push.claim(one)));
    expect(claims.map(({ body: kept }) => kept)).toEqual([null, null, { seq: 2, text: body }]);
  });

  test('is not kept by one whose claim is over', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.settle(claim);
    const { pushQueue } = context.db;
    expect(await pushQueue.storeBody({ ...one, claim: claim.claim, seq: 2, body })).toBe(false);
    const again = await push.claim(one);
    expect(await pushQueue.storeBody({ ...one, claim: claim.claim, seq: 2, body })).toBe(false);
    await push.settle(again);
    expect(await push.claim(one)).toMatchObject({ body: null });
  });
}
