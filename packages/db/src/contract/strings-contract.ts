import { describe, expect, test } from '@jest/globals';
import { encodeEvent } from '@a2a-cluster/core';
import { event, followUp, freshScope, newTask, sweepOf, writeOf } from './context.js';
import type { ContractContext } from './context.js';

/** Strings that databases are known to change, fold or refuse (protocol 1). */
export function describeStrings(context: ContractContext): void {
  describe('a payload', () => describePayloads(context));
  describe('an id', () => describeIds(context));
  describe('an owner or tenant', () => describeScopes(context));
}

const odd: Readonly<Record<string, string>> = {
  'an escaped NUL': JSON.stringify({ text: 'a\u0000b' }),
  'four-byte characters': '{"text":"\u{1F600}\u{10FFFF}\u{20000}"}',
  'keys out of order and spaces': '{ "b" : 1,  "a":2, "b":3 }',
  'quotes, backslashes and percent signs': JSON.stringify({ text: `'"\`\\ \\' %s ? $1 :x -- /* */ ;` }),
  'line ends and controls': JSON.stringify({ text: '\r\n\t\u0001\u001a\u2028\ufeff' }) + '\n',
  'combining marks as they came': '{"text":"e\u0301 \u00e9"}',
  'numbers no double holds': '{"n":12345678901234567890.123456789}',
};

function describePayloads(context: ContractContext): void {
  test.each(Object.entries(odd))('with %s is kept byte for byte', async (_, payload) => {
    const task = await context.makeTask({ events: [event('task', { payload })], snapshot: payload });
    await context.db.journal.commit(writeOf(task, { events: [event('artifactUpdate', { payload })] }));
    await context.db.leases.release(task);
    const message = event('message', { payload, messageId: 'm' });
    await context.db.journal.openTurn(followUp(task, { event: message }));
    const stored = await context.read(task);
    expect(stored.snapshot).toBe(payload);
    expect(stored.events.map((row) => row.payload)).toEqual([payload, payload]);
    const rows = await context.db.log.readEvents({ taskId: task.taskId, after: 0, limit: 10 });
    expect(rows.map((row) => row.payload)).toEqual([payload, payload, payload]);
    const [document] = await context.db.tasks.readTasks([task.taskId]);
    expect(document).toMatchObject({ snapshot: payload });

    const { taskId, scope } = task;
    const config = { taskId, configId: 'c', scope, payload, wireVersion: '1.0', origin: 'https://a' };
    await context.db.pushConfigs.save(config);
    expect(await context.db.pushConfigs.load({ taskId, scope })).toEqual([config]);
  });

  test('of a million bytes is kept whole', async () => {
    const payload = JSON.stringify({ text: '\u00e9'.repeat(500_000) });
    const task = await context.makeTask();
    await context.db.journal.commit(
      writeOf(task, { events: [event('artifactUpdate', { payload })], snapshot: payload }),
    );
    const stored = await context.read(task);
    expect(stored.snapshot === payload).toBe(true);
    const [row] = await context.db.log.readEvents({ taskId: task.taskId, after: 1, limit: 1 });
    expect(row?.payload === payload).toBe(true);
  });

  test('of the codec comes back as the codec wrote it', async () => {
    const parts = [
      {
        content: { $case: 'text' as const, value: '\u0000\u{1F600}' },
        metadata: undefined,
        filename: '',
        mediaType: '',
      },
    ];
    const artifact = {
      artifactId: 'a',
      name: '',
      description: '',
      parts,
      metadata: undefined,
      extensions: [],
    };
    const task = await context.makeTask();
    const data = {
      taskId: task.taskId,
      contextId: task.contextId,
      artifact,
      append: false,
      lastChunk: false,
      metadata: undefined,
    };
    const payload = encodeEvent({ kind: 'artifactUpdate', data });
    await context.db.journal.commit(writeOf(task, { events: [event('artifactUpdate', { payload })] }));
    expect((await context.read(task)).events.at(-1)?.payload).toBe(payload);
  });
}

/** Fills up to exactly 191 bytes with four-byte characters and a rest of one-byte ones. */
function longId(prefix: string): string {
  const room = 191 - Buffer.byteLength(prefix, 'utf8');
  return prefix + '\u{1F600}'.repeat(Math.floor(room / 4)) + 'x'.repeat(room % 4);
}

function describeIds(context: ContractContext): void {
  test('may be 191 bytes long wherever there are ids', async () => {
    const unique = freshScope().owner;
    const taskId = longId(unique);
    const scope = { tenant: longId('t'), owner: longId('o') };
    const holder = longId('replica');
    const contextId = longId('c');
    const messageId = longId('m');
    const task = await context.makeTask({
      taskId,
      scope,
      holder,
      contextId,
      events: [event('task', { messageId })],
    });
    expect(await context.db.log.readTask({ taskId, scope })).toMatchObject({ taskId, scope, contextId });
    expect(await context.db.log.findMessage({ taskId, messageId })).toEqual({ seq: 1, epoch: 1 });
    expect(await context.db.journal.commit(writeOf(task))).toEqual({ ok: true, version: 2 });
    expect(await context.db.leases.beat({ holder, ttlMs: 60_000, leases: [task] })).toHaveLength(1);
    const config = {
      taskId,
      configId: longId('p'),
      scope,
      payload: '{}',
      wireVersion: '1.0',
      origin: 'https://a',
    };
    expect(await context.db.pushConfigs.save(config)).toBe('saved');
    expect(await context.db.pushConfigs.load({ taskId, scope })).toEqual([config]);
    await context.expire(task);
    const { swept } = await context.db.journal.sweep(sweepOf({ taskId, sweeper: holder }));
    expect(swept).toMatchObject([{ taskId, holder, failed: { seq: 3 } }]);
  });

  test.each([
    ['case', 'Task', 'task'],
    ['accents', 'tâsk', 'task'],
    ['normal forms', 't\u00e9sk', 'te\u0301sk'],
    ['sharp s', 'ta\u00df', 'tass'],
    ['width', 'ｔask', 'task'],
  ])('is another when it differs in %s', async (_, left, right) => {
    const suffix = freshScope().owner;
    const [a, b] = [newTask({ taskId: `${left}-${suffix}` }), newTask({ taskId: `${right}-${suffix}` })];
    expect(await context.db.journal.createTask(a)).toMatchObject({ ok: true });
    expect(await context.db.journal.look({ taskId: b.taskId })).toBeNull();
    expect(await context.db.journal.createTask(b)).toMatchObject({ ok: true });
    expect(await context.db.log.readHeads([a.taskId])).toHaveLength(1);
    const holderOf = async (holder: string) =>
      context.db.leases.release({ taskId: a.taskId, holder, epoch: 1 });
    expect(await holderOf(a.holder.toUpperCase())).toBe('gone');
    expect(await holderOf(a.holder)).toBe('released');
  });

  test('of a message is another when it differs in case or accents', async () => {
    const task = await context.makeFreeTask({ events: [event('task', { messageId: 'message' })] });
    const { taskId, scope } = task;
    for (const [index, messageId] of ['Message', 'm\u00e9ssage', 'me\u0301ssage'].entries()) {
      expect(await context.db.log.findMessage({ taskId, messageId })).toBeNull();
      const open = followUp(task, { scope, event: event('message', { messageId }) });
      expect(await context.db.journal.openTurn(open)).toEqual({ ok: true, epoch: index + 2 });
      await context.db.leases.release({ taskId, holder: open.holder, epoch: index + 2 });
    }
  });

  test('with quotes and wildcards is only itself', async () => {
    const suffix = freshScope().owner;
    const taskId = `%_'"\\;--${suffix}`;
    await context.makeTask({ taskId });
    expect(await context.db.log.readHeads([taskId])).toMatchObject([{ taskId }]);
    expect(await context.db.log.readHeads([`xx'"\\;--${suffix}`, `%${suffix}`])).toEqual([]);
    expect(await context.db.leases.readLeases([taskId])).toMatchObject([{ taskId }]);
  });
}

function describeScopes(context: ContractContext): void {
  test.each([
    ['case', 'Alice', 'alice'],
    ['accents', '\u00e4lice', 'alice'],
    ['normal forms', 'al\u00edce', 'ali\u0301ce'],
  ])('is another when it differs in %s', async (_, left, right) => {
    const { tenant } = freshScope();
    const theirs = { tenant, owner: right };
    const task = await context.makeFreeTask({ scope: { tenant, owner: left } });
    const { taskId } = task;
    expect(await context.db.log.readTask({ taskId, scope: theirs })).toBeNull();
    expect(await context.db.tasks.list({ scope: theirs, limit: 10 })).toEqual({ rows: [], total: 0 });
    const open = followUp(task, { scope: theirs });
    expect(await context.db.journal.openTurn(open)).toEqual({ ok: false, refusal: 'not_found' });
    const cancel = { taskId, scope: theirs, holder: 'x', expectedVersion: 1, epoch: 1, event: event() };
    expect(await context.db.journal.cancel({ ...cancel, statusTimestamp: '' })).toEqual({ ok: false });
    expect(await context.db.tasks.list({ scope: task.scope, limit: 10 })).toMatchObject({ total: 1 });
  });
}
