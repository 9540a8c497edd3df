import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PushKey } from '../statements/push-queue.js';
import { MOST_CONFIGS_PER_TASK, MOST_TASKS_AT_ONCE } from '../statements/task-queries.js';
import { freshScope, newTask } from './context.js';
import type { ContractContext } from './context.js';
import { CLAIMANT, PushContext, configOf } from './push-context.js';

/** Registered configs, and who claims their deliveries (protocol 9). */
export function describePushQueue(context: ContractContext): void {
  const push = new PushContext(context);
  describe('a registered push config', () => describeRegistered(push));
  describe('claims of the pushes of tasks', () => describeClaimOf(push));
  describe('claims of the pushes of many tasks', () => describeClaimMany(push));
  describe('claims of pushes that are due', () => describeClaimDue(push));
  describe('claims by origin', () => describeOrigins(push));
  describe('a push without events', () => describeIdle(push));
}

const key = ({ taskId, configId }: PushKey): PushKey => ({ taskId, configId });
const keyText = (one: PushKey): string => JSON.stringify(key(one));

function describeRegistered(push: PushContext): void {
  const { context } = push;

  test('begins after the last event of its task, or at its first where it has none yet', async () => {
    const one = await push.idle();
    expect(await push.look(one)).toMatchObject({ position: 1, version: 1, status: 'active', attempts: 0 });
    const create = newTask();
    await context.db.pushConfigs.save(configOf(create));
    expect(await push.look(configOf(create))).toMatchObject({ position: 0, version: 0 });
    await context.db.journal.createTask(create);
    expect(await push.claim(configOf(create))).toMatchObject({ position: 0, version: 1 });
  });

  test('that is saved again stays where it is, and goes to its new address', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.settle(claim, { next: { kind: 'retry', delayMs: 60_000, error: 'down' } });
    const moved = {
      payload: '{"url":"https://new.example/x"}',
      origin: 'https://new.example',
      wireVersion: '0.3',
    };
    expect(await context.db.pushConfigs.save(configOf(one.task, moved))).toBe('saved');
    expect(await push.look(one)).toMatchObject({
      ...{ position: 1, attempts: 1, lastError: 'down', status: 'active', url: 'https://new.example/x' },
    });
    await push.age(one, 60_000);
    expect(await push.due([one])).toMatchObject([{ ...moved, position: 1 }]);
  });

  test.each(['disabled', 'done'])('that is saved again when it was %s begins anew', async (status) => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    const { taskId, configId } = one;
    await context.db.pushQueue.storeBody({ ...one, claim: claim.claim, seq: 2, body: '{}' });
    await push.settle(claim, { next: { kind: 'retry', delayMs: 0, error: 'down' } });
    await push.complete(one.task);
    const [again] = await push.due([one]);
    if (!again) throw new Error('not due');
    const next = { kind: 'disable' as const, error: 'gone' };
    await push.settle(again, status === 'disabled' ? { next } : { position: 3 });
    expect(await push.look(one)).toMatchObject({ status, dueInMs: null });
    await context.db.pushConfigs.save(configOf(one.task));
    const fresh = { status: 'active', position: 3, attempts: 0, lastError: null, failingForMs: null };
    expect(await push.look(one)).toMatchObject({ ...fresh, taskId, configId, holder: null });
    expect((await push.look(one)).dueInMs).toBeLessThanOrEqual(0);
  });

  test('is one of fifty of its task at most, which may be replaced', async () => {
    const { task } = await push.idle({ configId: 'c-0' });
    const { pushConfigs } = context.db;
    const ids = Array.from({ length: MOST_CONFIGS_PER_TASK - 1 }, (_, n) => `c-${n + 1}`);
    for (const configId of ids) expect(await pushConfigs.save(configOf(task, { configId }))).toBe('saved');
    expect(await pushConfigs.save(configOf(task, { configId: 'more' }))).toBe('full');
    expect(await pushConfigs.save(configOf(task, { configId: 'c-7' }))).toBe('saved');
    expect(await pushConfigs.save(configOf({ ...task, scope: freshScope() }))).toBe('taken');
    await pushConfigs.remove({ taskId: task.taskId, scope: task.scope, configId: 'c-7' });
    expect(await pushConfigs.save(configOf(task, { configId: 'more' }))).toBe('saved');
  });

  test('is one of fifty when replicas save at once', async () => {
    const task = await context.makeTask();
    const saves = Array.from({ length: MOST_CONFIGS_PER_TASK + 10 }, (_, n) =>
      (n % 2 === 0 ? context.db : context.second).pushConfigs.save(configOf(task, { configId: `c-${n}` })),
    );
    const outcomes = await Promise.all(saves);
    const rows = await context.db.pushConfigs.load(task);
    expect(rows.length).toBeLessThanOrEqual(MOST_CONFIGS_PER_TASK);
    expect(outcomes.filter((one) => one === 'saved')).toHaveLength(rows.length);
    expect(new Set(outcomes)).toEqual(new Set(['saved', 'full']));
  });
}

function describeClaimOf(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());
  const claimOf = (taskIds: readonly string[], db = context.db) =>
    db.pushQueue.claimOf({ ...CLAIMANT, taskIds });

  test('take what has events, and tell which tasks have a config at all', async () => {
    const [waiting, idle] = [await push.waiting(), await push.idle()];
    const without = await context.makeTask();
    const taskIds = [waiting.taskId, idle.taskId, without.taskId, 'none'];
    const { claimed, known } = await claimOf(taskIds);
    expect(claimed.map(key)).toEqual([key(waiting)]);
    expect([...known].sort()).toEqual([waiting.taskId, idle.taskId].sort());
    expect(await claimOf([])).toEqual({ claimed: [], known: [] });
  });

  test('give all that a delivery needs, whatever the keys', async () => {
    const scope = { tenant: `t\u{1F600}'"`, owner: 'o\u00e9 %_\\' };
    const task = await context.makeTask({ taskId: `t\u{1F600}'\\-${freshScope().owner}`, scope });
    const config = configOf(task, { configId: `c\u00e9'"\\{}` });
    await context.db.pushConfigs.save(config);
    await push.commit(task);
    const { claimed, known } = await claimOf([task.taskId]);
    const { url: _url, ...rest } = { ...config, url: '' };
    expect(known).toEqual([task.taskId]);
    expect(claimed).toEqual([
      {
        ...{ ...rest, claim: 1, position: 1, version: 2, state: 'TASK_STATE_WORKING' },
        ...{ attempts: 0, failingForMs: 0, body: null },
      },
    ]);
    const [first] = claimed;
    if (!first) throw new Error('not claimed');
    expect(await push.settle(first, { position: 2, delivered: true })).toBe(true);
    expect(await push.look(config)).toMatchObject({ scope, position: 2, version: 2 });
  });

  test('take every config of a task', async () => {
    const one = await push.waiting();
    await context.db.pushConfigs.save(configOf(one.task, { configId: 'c-2' }));
    await push.commit(one.task);
    const { claimed, known } = await claimOf([one.taskId, one.taskId]);
    expect(claimed.map(({ configId, position }) => [configId, position]).sort()).toEqual([
      ['c-1', 1],
      ['c-2', 2],
    ]);
    expect(known).toEqual([one.taskId]);
  });

  test('leave what is claimed, waits for a retry, is disabled or done', async () => {
    const pushes = [await push.waiting(), await push.waiting(), await push.waiting()];
    const [claimed, failed, disabled] = await Promise.all(pushes.map((one) => push.claim(one)));
    if (!claimed || !failed || !disabled) throw new Error('not claimed');
    await push.settle(failed, { next: { kind: 'retry', delayMs: 60_000, error: 'down' } });
    await push.settle(disabled, { next: { kind: 'disable', error: 'gone' } });
    const taskIds = pushes.map(({ taskId }) => taskId);
    const again = await claimOf(taskIds, context.second);
    expect(again.claimed).toEqual([]);
    expect([...again.known].sort()).toEqual([claimed.taskId, failed.taskId].sort());
  });

  test('take over what has expired, and a retry that is due', async () => {
    const pushes = [await push.waiting(), await push.waiting()];
    const [left, failed] = await Promise.all(pushes.map((one) => push.claim(one)));
    if (!left || !failed) throw new Error('not claimed');
    await push.settle(failed, { next: { kind: 'retry', delayMs: 60_000, error: 'down' } });
    await push.age(left, CLAIMANT.ttlMs + 1);
    await push.age(failed, 60_001);
    const { claimed } = await claimOf([left.taskId, failed.taskId], context.second);
    expect(claimed).toHaveLength(2);
    for (const one of claimed) expect(one.claim).toBe(2);
    expect(await push.settle(left)).toBe(false);
  });

  test('take a config that was put off, as soon as there is an event', async () => {
    const one = await push.idle();
    await push.due([one]);
    expect((await push.look(one)).dueInMs).toBeGreaterThan(1_000);
    await push.commit(one.task);
    expect((await claimOf([one.taskId])).claimed.map(key)).toEqual([key(one)]);
  });
}

function describeClaimMany(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());

  test('are made for hundreds of tasks at once, and settled so', async () => {
    const keys = await push.many(MOST_TASKS_AT_ONCE);
    const { claimed, known } = await context.db.pushQueue.claimOf({
      ...{ ...CLAIMANT, taskIds: keys.map(({ taskId }) => taskId) },
    });
    expect(claimed).toHaveLength(MOST_TASKS_AT_ONCE);
    expect(known).toHaveLength(MOST_TASKS_AT_ONCE);
    const settled = await context.db.pushQueue.settle(
      claimed.map(({ taskId, configId, claim }) => ({
        ...{ taskId, configId, claim, position: 1, delivered: true, next: { kind: 'release' } as const },
      })),
    );
    expect(new Set(settled.map(keyText))).toEqual(new Set(keys.map(keyText)));
    expect(await context.db.pushQueue.counts()).toMatchObject({ waiting: 0 });
  }, 60_000);
}

function describeClaimDue(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());
  const claimDue = (more: { limit?: number } = {}, db = context.db) =>
    db.pushQueue.claimDue({ ...CLAIMANT, limit: 10, exceptOrigins: [], ...more });

  test('take the longest due first, as many as are asked for', async () => {
    const pushes = [await push.waiting(), await push.waiting(), await push.waiting()];
    for (const [n, one] of pushes.entries()) await push.age(one, (n + 1) * 1_000);
    const [youngest, middle, oldest] = pushes.map(keyText);
    const first = await claimDue({ limit: 2 });
    expect(first.seen).toBe(2);
    expect(new Set(first.claimed.map(keyText))).toEqual(new Set([oldest, middle]));
    const second = await claimDue({ limit: 2 });
    expect([second.seen, second.claimed.map(keyText)]).toEqual([1, [youngest]]);
    expect(await claimDue()).toEqual({ claimed: [], seen: 0 });
  });

  test("leave a config of another scope than its task's, which gets no event of it", async () => {
    const { tenant, owner } = freshScope();
    for (const scope of ['tenant', 'owner'] as const) {
      const create = newTask();
      const other = { ...create.scope, ...(scope === 'tenant' ? { tenant } : { owner }) };
      const config = configOf({ taskId: create.taskId, scope: other });
      await context.db.pushConfigs.save(config);
      await context.db.journal.createTask(create);
      const { claimed } = await context.db.pushQueue.claimOf({ ...CLAIMANT, taskIds: [create.taskId] });
      expect([...claimed, ...(await claimDue()).claimed]).toEqual([]);
    }
  });

  test('leave live claims and retries to come, and take over what has expired', async () => {
    const pushes = [await push.waiting(), await push.waiting()];
    const [left, failed] = await Promise.all(pushes.map((one) => push.claim(one)));
    if (!left || !failed) throw new Error('not claimed');
    await push.settle(failed, { next: { kind: 'retry', delayMs: 60_000, error: 'down' } });
    expect(await claimDue()).toEqual({ claimed: [], seen: 0 });
    await push.age(failed, 60_001);
    await push.age(left, CLAIMANT.ttlMs + 1);
    const { claimed } = await claimDue();
    const summary = claimed.map(({ taskId, claim, attempts }) => ({ taskId, claim, attempts }));
    expect(summary).toHaveLength(2);
    expect(summary).toContainEqual({ taskId: left.taskId, claim: 2, attempts: 0 });
    expect(summary).toContainEqual({ taskId: failed.taskId, claim: 2, attempts: 1 });
  });

  test('never share a config when two replicas claim at once', async () => {
    const keys = await push.many(200);
    const drain = async (db: typeof context.db): Promise<string[]> => {
      const all: string[] = [];
      for (;;) {
        const { claimed, seen } = await claimDue({ limit: 20 }, db);
        all.push(...claimed.map((one) => `${keyText(one)} ${one.claim}`));
        if (seen === 0) return all;
      }
    };
    const dbs = [context.db, context.second, context.db, context.second];
    const claims = (await Promise.all(dbs.map(drain))).flat();
    expect(claims).toHaveLength(keys.length);
    expect(new Set(claims)).toEqual(new Set(keys.map((one) => `${keyText(one)} 1`)));
  }, 60_000);
}

function describeIdle(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());

  test.each([
    ['5 s where it has just changed', 0, 5_000],
    ['a quarter of the time since it changed', 40_000, 10_000],
    ['10 min at most', 3 * 3_600_000, 600_000],
  ])('is put off for %s', async (_, unchangedMs, putOffMs) => {
    const one = await push.idle();
    await push.age(one, unchangedMs);
    expect(await push.due([one])).toEqual([]);
    const { dueInMs, status, holder } = await push.look(one);
    expect({ status, holder }).toEqual({ status: 'active', holder: null });
    expect(dueInMs).toBeGreaterThan(putOffMs - 1_500);
    expect(dueInMs).toBeLessThanOrEqual(putOffMs + 1_500);
  });

  test('is done when its task has ended', async () => {
    const one = await push.waiting();
    await push.settle(await push.claim(one), { position: 2, delivered: true });
    await push.complete(one.task);
    const claim = await push.claim(one);
    // Nobody has settled the claim, but everything was delivered.
    await push.settle(claim, { position: 3, delivered: true, next: { kind: 'keep', ttlMs: 10 } });
    await push.age(one, 1_000);
    expect(await push.due([one])).toEqual([]);
    expect(await push.look(one)).toMatchObject({ status: 'done', holder: null, dueInMs: null });
    expect(await push.settle(claim, { position: 3 })).toBe(false);
    const { known } = await context.db.pushQueue.claimOf({ ...CLAIMANT, taskIds: [one.taskId] });
    expect(known).toEqual([]);
  });

  test('is removed when it has had no task for an hour, not before', async () => {
    const create = newTask();
    const config = configOf(create);
    await context.db.pushConfigs.save(config);
    await push.age(config, 3_500_000);
    const due = { ...CLAIMANT, limit: 10, exceptOrigins: [] };
    expect(await context.db.pushQueue.claimDue(due)).toEqual({ claimed: [], seen: 1 });
    expect((await push.look(config)).dueInMs).toBeGreaterThan(500_000);
    await push.age(config, 600_000);
    expect(await context.db.pushQueue.claimDue(due)).toEqual({ claimed: [], seen: 1 });
    expect(await context.db.pushConfigs.load(config)).toEqual([]);
  });
}

function describeOrigins(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());
  type Wish = { exceptOrigins?: readonly string[]; onlyOrigins?: readonly string[] };
  const claimDue = (wish: Wish = {}) =>
    context.db.pushQueue.claimDue({ ...CLAIMANT, limit: 10, exceptOrigins: [], ...wish });

  test('of tasks leave origins that are named, and take the others', async () => {
    const one = await push.waiting();
    const other = configOf(one.task, { configId: 'c-2', origin: 'https://b.example' });
    await context.db.pushConfigs.save(other);
    await push.commit(one.task);
    const claim = { ...CLAIMANT, taskIds: [one.taskId] };
    const first = await context.db.pushQueue.claimOf({ ...claim, exceptOrigins: ['https://hook.example'] });
    expect([first.claimed.map(key), first.known]).toEqual([[key(other)], [one.taskId]]);
    expect((await context.db.pushQueue.claimOf(claim)).claimed.map(key)).toEqual([key(one)]);
  });

  test('of what is due leave origins that are named', async () => {
    const here = await push.waiting();
    const there = await push.waiting({ origin: 'https://b.example:8443' });
    const { claimed, seen } = await claimDue({ exceptOrigins: ['https://hook.example', 'https://none'] });
    expect([seen, claimed.map(key)]).toEqual([1, [key(there)]]);
    expect((await claimDue()).claimed.map(key)).toEqual([key(here)]);
  });

  test('of what is due take only those that are named, where some are', async () => {
    const here = await push.waiting();
    const there = await push.waiting({ origin: 'https://b.example:8443' });
    expect(await claimDue({ onlyOrigins: [] })).toEqual({ claimed: [], seen: 0 });
    const { claimed } = await claimDue({ onlyOrigins: ['https://b.example:8443', 'https://none'] });
    expect(claimed.map(key)).toEqual([key(there)]);
    const both = { onlyOrigins: ['https://hook.example'], exceptOrigins: ['https://hook.example'] };
    expect(await claimDue(both)).toEqual({ claimed: [], seen: 0 });
    expect((await claimDue()).claimed.map(key)).toEqual([key(here)]);
  });
}
