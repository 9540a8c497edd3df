import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { Scope } from '@a2a-cluster/core';
import { MOST_CONFIGS_PER_TASK, type TaskListQuery } from '../statements/task-queries.js';
import { event, followUp, freshScope } from './context.js';
import type { ContractContext } from './context.js';
import { ODD_NAMES } from './odd-names.js';

/** Every name is its own, wherever there are names: databases compare byte for byte (protocol 1). */
export function describeNames(context: ContractContext): void {
  describe('among names that look alike or mean something elsewhere', () => {
    test('no two are the same', () => expect(new Set(ODD_NAMES).size).toBe(ODD_NAMES.length));
    test('a task id is only its own, and stands in its place by its bytes', () => ownTasks(context));
    test('a context id is only its own', () => ownContexts(context));
    test('an owner is only their own', async () => {
      const { tenant } = freshScope();
      await ownScopes(context, (owner) => ({ tenant, owner }));
    });
    test('a tenant is only its own', async () => {
      const { owner } = freshScope();
      await ownScopes(context, (tenant) => ({ tenant, owner }));
    });
    test('a message id is only its own', () => ownMessages(context));
    test('the id of a push config is only its own', () => ownConfigs(context));
    test('a holder is only itself', () => ownHolders(context));
  });
}

async function ownTasks(context: ContractContext): Promise<void> {
  const scope = freshScope();
  for (const taskId of ODD_NAMES) await context.makeTask({ taskId, scope });
  for (const taskId of ODD_NAMES) {
    expect(await context.db.log.readTask({ taskId, scope })).toMatchObject({ taskId });
    expect(await context.db.log.readTask({ taskId, scope: freshScope() })).toBeNull();
    expect((await context.db.log.readHeads([taskId])).map((head) => head.taskId)).toEqual([taskId]);
    expect((await context.db.leases.readLeases([taskId])).map((lease) => lease.taskId)).toEqual([taskId]);
  }
  const listed = await everyId(context, { scope });
  expect([...listed].sort()).toEqual([...ODD_NAMES].sort());
  // MySQL pads with spaces where it orders, so that a name stands after itself with a control character.
  const plain = (id: string): boolean => [...id].every((letter) => letter >= ' ');
  const bytesDown = [...ODD_NAMES].sort((a, b) => Buffer.compare(Buffer.from(b), Buffer.from(a)));
  expect(listed.filter(plain)).toEqual(bytesDown.filter(plain));
}

async function everyId(context: ContractContext, query: Omit<TaskListQuery, 'limit'>): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = query.cursor; ;) {
    const { rows } = await context.db.tasks.list({ ...query, limit: 7, ...(cursor ? { cursor } : {}) });
    ids.push(...rows.map((row) => row.taskId));
    cursor = rows.at(-1);
    if (cursor === undefined) return ids;
  }
}

async function ownContexts(context: ContractContext): Promise<void> {
  const scope = freshScope();
  const made = new Map<string, string>();
  for (const contextId of ODD_NAMES)
    made.set(contextId, (await context.makeFreeTask({ scope, contextId })).taskId);
  for (const [contextId, taskId] of made) {
    expect(await context.db.tasks.list({ scope, contextId, limit: 10 })).toMatchObject({
      rows: [{ taskId, contextId }],
      total: 1,
    });
    const other = ODD_NAMES.find((name) => name !== contextId) ?? '';
    const task = { taskId, contextId: other, scope, holder: 'x', epoch: 1, version: 1 };
    const refused = await context.db.journal.openTurn({ ...followUp(task, { scope }), contextId: other });
    expect(refused).toMatchObject({ ok: false, refusal: 'context_mismatch' });
  }
}

async function ownScopes(context: ContractContext, scopeOf: (name: string) => Scope): Promise<void> {
  const made = new Map<string, string>();
  for (const name of ODD_NAMES) made.set(name, (await context.makeFreeTask({ scope: scopeOf(name) })).taskId);
  for (const [name, taskId] of made) {
    const scope = scopeOf(name);
    expect(await context.db.tasks.list({ scope, limit: 10 })).toMatchObject({
      rows: [{ taskId, scope }],
      total: 1,
    });
    expect(await context.db.log.readTask({ taskId, scope })).toMatchObject({ taskId, scope });
  }
}

async function ownMessages(context: ContractContext): Promise<void> {
  const task = await context.makeFreeTask();
  const { taskId, scope } = task;
  const epochs = new Map<string, number>();
  for (const messageId of ODD_NAMES) {
    expect(await context.db.log.findMessage({ taskId, messageId })).toBeNull();
    const open = followUp(task, { scope, event: event('message', { messageId }) });
    const opened = await context.db.journal.openTurn(open);
    if (!opened.ok) throw new Error(`${messageId} was refused: ${opened.refusal}`);
    epochs.set(messageId, opened.epoch);
    await context.db.leases.release({ taskId, holder: open.holder, epoch: opened.epoch });
  }
  for (const [messageId, epoch] of epochs)
    expect(await context.db.log.findMessage({ taskId, messageId })).toEqual({ seq: epoch, epoch });
}

/** As many at a time as one task takes. */
async function ownConfigs(context: ContractContext): Promise<void> {
  for (let at = 0; at < ODD_NAMES.length; at += MOST_CONFIGS_PER_TASK)
    await ownConfigsAmong(context, ODD_NAMES.slice(at, at + MOST_CONFIGS_PER_TASK));
}

async function ownConfigsAmong(context: ContractContext, names: readonly string[]): Promise<void> {
  const { taskId, scope } = await context.makeFreeTask();
  for (const configId of names) {
    const payload = JSON.stringify({ configId });
    const row = { taskId, configId, scope, payload, wireVersion: '1.0', origin: 'https://hook.example' };
    expect(await context.db.pushConfigs.save(row)).toBe('saved');
  }
  const load = async (): Promise<string[]> =>
    (await context.db.pushConfigs.load({ taskId, scope })).map((row) => {
      expect(JSON.parse(row.payload)).toEqual({ configId: row.configId });
      return row.configId;
    });
  expect((await load()).sort()).toEqual([...names].sort());
  for (const rest of [2, 1]) {
    const gone = names.filter((_, index) => index % 2 === rest % 2);
    for (const configId of gone) await context.db.pushConfigs.remove({ taskId, scope, configId });
    const left = rest === 1 ? [] : names.filter((name) => !gone.includes(name));
    expect((await load()).sort()).toEqual([...left].sort());
  }
}

async function ownHolders(context: ContractContext): Promise<void> {
  const task = await context.makeTask({ holder: 'name' });
  for (const holder of ODD_NAMES.filter((name) => name !== 'name'))
    expect(await context.db.leases.release({ taskId: task.taskId, holder, epoch: 1 })).toBe('gone');
  for (const holder of ODD_NAMES) {
    const { taskId } = await context.makeTask({ holder, taskId: `held-${randomUUID()}` });
    expect(await context.db.leases.release({ taskId, holder, epoch: 1 })).toBe('released');
  }
}
