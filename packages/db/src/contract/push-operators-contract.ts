import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ClaimedPush, DeadLetter, PushKey } from '../statements/push-queue.js';
import type { ContractContext } from './context.js';
import { CLAIMANT, PushContext, configOf, type MadePush } from './push-context.js';

/** Dead letters, and what operators see and do (protocol 9). */
export function describeDeadLetters(context: ContractContext): void {
  const push = new PushContext(context);
  describe('a dead letter', () => describeDeadLetter(push));
  describe('a dead letter that is sent again', () => describeSentAgain(push));
  describe('a retry by an operator', () => describeOperatorRetry(push));
  describe('what operators see of pushes', () => describeSeen(push));
}

const key = ({ taskId, configId }: PushKey): PushKey => ({ taskId, configId });

function letterOf({ taskId, configId }: PushKey, more: Partial<DeadLetter> = {}): DeadLetter {
  const body = JSON.stringify({ text: 'x\u0000' });
  const told = { attempts: 7, error: 'answered 500', body, contentType: 'application/json' };
  return { taskId, configId, seq: 2, ...told, ...more };
}

/** A config whose only event is a dead letter; its claim goes on. */
async function buried(push: PushContext): Promise<{ readonly one: MadePush; readonly claim: ClaimedPush }> {
  const one = await push.waiting();
  const claim = await push.claim(one);
  await push.context.db.pushQueue.bury({ ...letterOf(one), claim: claim.claim, ttlMs: 60_000 });
  return { one, claim };
}

/** What the tests of dead letters ask. */
function lettersOf(context: ContractContext) {
  return {
    claimLetters: () => context.db.pushQueue.claimDeadLetters({ ...CLAIMANT, limit: 10 }),
    listOf: ({ taskId }: PushKey) => context.db.pushQueue.listDeadLetters({ taskId, limit: 10 }),
  };
}

function describeDeadLetter(push: PushContext): void {
  const { context } = push;
  const { claimLetters, listOf } = lettersOf(context);
  beforeEach(() => context.tamper.clearPushes());

  test('comes with the move past its event, and the claim goes on', async () => {
    const one = await push.waiting();
    const first = await push.claim(one);
    await context.db.pushQueue.storeBody({ ...one, claim: first.claim, seq: 2, body: '{}' });
    await push.settle(first, { next: { kind: 'retry', delayMs: 0, error: 'down' } });
    await push.age(one, 10);
    const claim = await push.claim(one);
    const letter = letterOf(one);
    const { pushQueue } = context.db;
    expect(await pushQueue.bury({ ...letter, claim: claim.claim, ttlMs: 60_000 })).toBe(true);
    expect(await push.look(one)).toMatchObject({
      ...{ position: 2, attempts: 0, lastError: null, failingForMs: null, holder: CLAIMANT.holder },
    });
    const { seq, attempts, error } = letter;
    const [listed] = await listOf(one);
    expect(listed).toMatchObject({
      ...{ ...key(one), scope: one.task.scope, url: 'https://hook.example/push', seq, attempts, error },
      status: 'dead',
    });
    expect(listed?.ageMs).toBeLessThan(60_000);
    expect(await push.settle(claim)).toBe(true);
    await push.commit(one.task);
    expect(await push.claim(one)).toMatchObject({ body: null, attempts: 0, position: 2 });
    expect(await claimLetters()).toEqual([]);
  });

  test('is not made by one whose claim is over', async () => {
    const one = await push.waiting();
    const { claim } = await push.claim(one);
    const { pushQueue } = context.db;
    expect(await pushQueue.bury({ ...letterOf(one), claim: claim + 1, ttlMs: 60_000 })).toBe(false);
    await push.age(one, CLAIMANT.ttlMs + 1);
    await push.claim(one);
    expect(await pushQueue.bury({ ...letterOf(one), claim, ttlMs: 60_000 })).toBe(false);
    expect(await listOf(one)).toEqual([]);
    expect(await push.look(one)).toMatchObject({ position: 1 });
  });

  test('goes with its config', async () => {
    const { one } = await buried(push);
    const { taskId, configId } = one;
    const stranger = { tenant: 'x', owner: 'y' };
    await context.db.pushConfigs.remove({ taskId, configId, scope: stranger });
    expect(await listOf(one)).toHaveLength(1);
    await context.db.pushConfigs.remove({ taskId, configId, scope: one.task.scope });
    expect(await listOf(one)).toEqual([]);
  });
}

function describeSentAgain(push: PushContext): void {
  const { context } = push;
  const { claimLetters, listOf } = lettersOf(context);
  beforeEach(() => context.tamper.clearPushes());

  test('goes to one replica, with its config as it is now', async () => {
    const { one } = await buried(push);
    const config = configOf(one.task, {
      payload: '{"url":"https://b.example/"}',
      origin: 'https://b.example',
    });
    await context.db.pushConfigs.save(config);
    expect(await context.db.pushQueue.retry({ taskId: one.taskId })).toEqual({ configs: 0, deadLetters: 1 });
    expect(await context.db.pushQueue.retry({ taskId: one.taskId })).toEqual({ configs: 0, deadLetters: 0 });
    expect(await listOf(one)).toMatchObject([{ status: 'queued' }]);
    const dbs = [context.db, context.second];
    const claims = await Promise.all(
      dbs.map((db) => db.pushQueue.claimDeadLetters({ ...CLAIMANT, limit: 10 })),
    );
    const { payload, origin, wireVersion, scope } = config;
    expect(claims.flat()).toEqual([{ ...letterOf(one), scope, payload, origin, wireVersion, claim: 1 }]);
    expect(await claimLetters()).toEqual([]);
  });

  test('stays dead when it fails again, with one more attempt', async () => {
    const { one } = await buried(push);
    const { pushQueue } = context.db;
    await pushQueue.retry({ ...key(one) });
    const [letter] = await claimLetters();
    const settled = { ...key(one), seq: 2, claim: letter?.claim ?? 0 };
    expect(await pushQueue.settleDeadLetter({ ...settled, claim: 9, error: null })).toBe(false);
    expect(await pushQueue.settleDeadLetter({ ...settled, error: 'still\u0000 down' })).toBe(true);
    expect(await pushQueue.settleDeadLetter({ ...settled, error: null })).toBe(false);
    expect(await listOf(one)).toMatchObject([{ status: 'dead', attempts: 8, error: 'still down' }]);
    expect(await pushQueue.retry({ ...key(one) })).toEqual({ configs: 0, deadLetters: 1 });
    expect(await claimLetters()).toMatchObject([{ claim: 2, attempts: 8 }]);
  });

  test('is delivered once, and is not asked for again', async () => {
    const { one } = await buried(push);
    const { pushQueue } = context.db;
    await pushQueue.retry({ ...key(one) });
    await claimLetters();
    const settled = { ...key(one), seq: 2, claim: 1, error: null };
    expect(await pushQueue.settleDeadLetter(settled)).toBe(true);
    expect(await listOf(one)).toMatchObject([{ status: 'delivered', attempts: 7, error: 'answered 500' }]);
    expect(await pushQueue.retry({ ...key(one) })).toEqual({ configs: 0, deadLetters: 0 });
    expect(await pushQueue.counts()).toMatchObject({ deadLetters: 0 });
  });

  test('whose claim has expired is taken over', async () => {
    const { one } = await buried(push);
    await context.db.pushQueue.retry({ ...key(one) });
    await claimLetters();
    await push.age(one, CLAIMANT.ttlMs + 1);
    expect(await claimLetters()).toMatchObject([{ claim: 2 }]);
    const settled = { ...key(one), seq: 2, error: null };
    expect(await context.db.pushQueue.settleDeadLetter({ ...settled, claim: 1 })).toBe(false);
    expect(await context.db.pushQueue.settleDeadLetter({ ...settled, claim: 2 })).toBe(true);
  });
}

function describeOperatorRetry(push: PushContext): void {
  const { context } = push;
  const retry = (find: { readonly taskId: string; readonly configId?: string }) =>
    context.db.pushQueue.retry(find);

  test('makes what waits due at once', async () => {
    const one = await push.waiting();
    const next = { kind: 'retry', delayMs: 3_600_000, error: 'down' } as const;
    await push.settle(await push.claim(one), { next });
    expect(await retry({ ...key(one) })).toEqual({ configs: 1, deadLetters: 0 });
    expect(await push.look(one)).toMatchObject({ attempts: 1, lastError: 'down' });
    expect(await push.claim(one)).toMatchObject({ claim: 2, attempts: 1 });
  });

  test('enables what was disabled, where it was', async () => {
    const one = await push.waiting();
    const claim = await push.claim(one);
    await push.settle(claim, { next: { kind: 'retry', delayMs: 0, error: 'down' } });
    await push.age(one, 10);
    await push.settle(await push.claim(one), { next: { kind: 'disable', error: 'gone' } });
    await push.commit(one.task);
    expect(await retry({ taskId: one.taskId })).toEqual({ configs: 1, deadLetters: 0 });
    const fresh = { status: 'active', attempts: 0, lastError: null, failingForMs: null };
    expect(await push.look(one)).toMatchObject({ ...fresh, position: 1, version: 3 });
    expect(await push.claim(one)).toMatchObject({ claim: 3, position: 1 });
  });

  test('leaves what has no events, is done or is being delivered', async () => {
    const [idle, done, claimed] = [await push.idle(), await push.waiting(), await push.waiting()];
    await push.complete(done.task);
    await push.settle(await push.claim(done), { position: 3, delivered: true });
    await push.claim(claimed);
    for (const { taskId } of [idle, done, claimed])
      expect(await retry({ taskId })).toEqual({ configs: 0, deadLetters: 0 });
    expect(await push.look(done)).toMatchObject({ status: 'done' });
    expect(await push.look(claimed)).toMatchObject({ holder: CLAIMANT.holder });
  });

  test('is of one config, where one is named', async () => {
    const one = await push.waiting();
    await context.db.pushConfigs.save(configOf(one.task, { configId: 'c-2' }));
    await push.commit(one.task);
    const disable = { kind: 'disable', error: 'gone' } as const;
    const taskIds = [one.taskId];
    const { claimed } = await context.db.pushQueue.claimOf({ ...CLAIMANT, taskIds });
    for (const claim of claimed) await push.settle(claim, { next: disable });
    expect(await retry({ taskId: one.taskId, configId: 'c-2' })).toEqual({ configs: 1, deadLetters: 0 });
    expect((await push.look(one)).status).toBe('disabled');
    expect((await push.look({ ...one, configId: 'c-2' })).status).toBe('active');
    expect(await retry({ taskId: one.taskId, configId: 'none' })).toEqual({ configs: 0, deadLetters: 0 });
  });
}

function describeSeen(push: PushContext): void {
  const { context } = push;
  beforeEach(() => context.tamper.clearPushes());

  /** One of each: idle, waiting, failing, claimed, disabled, done. */
  async function oneOfEach() {
    const made = [await push.idle(), await push.waiting(), await push.waiting(), await push.waiting()];
    const [idle, waiting, failing, claimed] = made as [MadePush, MadePush, MadePush, MadePush];
    const [disabled, done] = [await push.waiting(), await push.waiting()];
    await push.age(waiting, 1_000);
    const retry = { kind: 'retry', delayMs: 60_000, error: 'down' } as const;
    await push.settle(await push.claim(failing), { next: retry });
    await push.claim(claimed);
    await push.settle(await push.claim(disabled), { next: { kind: 'disable', error: 'gone' } });
    await push.complete(done.task);
    await push.settle(await push.claim(done), { position: 3, delivered: true });
    return { idle, waiting, failing, claimed, disabled, done };
  }

  test('is what waits, is claimed or disabled, the longest due first', async () => {
    const { waiting, failing, claimed, disabled } = await oneOfEach();
    const all = await context.db.pushQueue.list({ limit: 10 });
    expect(all.map(key)).toEqual([waiting, failing, claimed, disabled].map(key));
    expect(all.map(({ status }) => status)).toEqual(['active', 'active', 'active', 'disabled']);
    expect(all.map(({ holder }) => holder)).toEqual([null, null, CLAIMANT.holder, null]);
    expect(all[0]?.dueInMs).toBeLessThan(0);
    expect(all[0]).toMatchObject({ scope: waiting.task.scope, position: 1, version: 2 });
    expect((await context.db.pushQueue.list({ limit: 2 })).map(key)).toEqual([waiting, failing].map(key));
  });

  test('is all of a task, where one is named', async () => {
    const { idle, done } = await oneOfEach();
    const list = (taskId: string) => context.db.pushQueue.list({ taskId, limit: 10 });
    expect((await list(idle.taskId)).map(key)).toEqual([key(idle)]);
    expect(await list(done.taskId)).toMatchObject([{ status: 'done', position: 3, version: 3 }]);
    expect(await list('none')).toEqual([]);
  });

  test('are counts over all tenants', async () => {
    const nothing = { waiting: 0, retrying: 0, disabled: 0, deadLetters: 0 };
    expect(await context.db.pushQueue.counts()).toEqual(nothing);
    await oneOfEach();
    await buried(push);
    expect(await context.db.pushQueue.counts()).toEqual({
      ...{ waiting: 3, retrying: 1, disabled: 1, deadLetters: 1 },
    });
  });

  test('are dead letters, the youngest first', async () => {
    const made = [];
    for (let n = 0; n < 3; n += 1) {
      made.push((await buried(push)).one);
      await context.tick();
    }
    const [first, second, third] = made.map(key);
    const { pushQueue } = context.db;
    expect((await pushQueue.listDeadLetters({ limit: 10 })).map(key)).toEqual([third, second, first]);
    expect((await pushQueue.listDeadLetters({ limit: 1 })).map(key)).toEqual([third]);
    const ofFirst = await pushQueue.listDeadLetters({ taskId: first?.taskId ?? '', limit: 10 });
    expect(ofFirst.map(key)).toEqual([first]);
  });
}
