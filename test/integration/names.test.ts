import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { UnauthenticatedUser, type User } from '@a2a-js/sdk/server';
import { encodeEvent, stateName } from '@a2a-cluster/core';
import { availableProviders } from '@a2a-cluster/testing';
import { IMPOSSIBLE_NAMES, ODD_NAMES } from '../../packages/db/src/contract/odd-names.js';
import type { Authentication } from '../../apps/clustermode/src/auth.js';
import { A2AClient, type Answer, type WireTask } from './support/a2a-client.js';
import { newTask } from './support/events.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { sendRaw, type RawAnswer, type RawRequest } from './support/raw-request.js';
import { DEAD, nobody } from './support/seeds.js';
import { HOOK, verbs, wires, type Wire } from './support/wires.js';

/** A share of the names, of every kind; every database is asked all of them in its own contract. */
const NAMES = [
  ...['name', 'Name', 'n\u00e1me', 'na\u0301me', 'stra\u00dfe', 'strasse', '\u212a', 'K', ' name', 'name\t'],
  ...['\ufeffname', '\u{1F600}', '\ufffd', '%', '_', 'n%', "'", '"', '\\', "'; DROP TABLE tasks; --"],
  ...['..', 'a/b', 'a%2fb', 'a+b', 'a b', 'a:cancel', 'null', '__proto__'],
  ...ODD_NAMES.filter((name) => Buffer.byteLength(name) === 191),
];

interface Page {
  readonly tasks: readonly WireTask[];
}

/** Whoever the header says, so that owners can have every name; without it nobody in particular. */
const anybody: Authentication = {
  guard: (_req, _res, next) => next(),
  userBuilder: (req) => {
    const header = req.header('x-principal');
    if (header === undefined) return Promise.resolve(new UnauthenticatedUser());
    const said = JSON.parse(Buffer.from(header, 'base64').toString()) as { userName: string; tenant: string };
    const user: User & { tenant: string } = { isAuthenticated: true, ...said };
    return Promise.resolve(user);
  },
};

describe.each([...availableProviders(), 'memory' as const])('a name is only its own, on %s', (provider) => {
  let door: FrontDoor;
  let client: A2AClient;
  let statements: string[] = [];

  beforeAll(async () => {
    for (const method of ['error', 'warn'] as const) jest.spyOn(console, method).mockImplementation(() => {});
    const statement = (args: string): void => void statements.push(args);
    door = await openFrontDoor({ provider, authentication: anybody, statement });
    client = new A2AClient(door.base);
  });
  afterAll(async () => {
    await door.close();
    jest.restoreAllMocks();
  });

  const rest = async (path: string, method = 'GET'): Promise<RawAnswer> =>
    sendRaw(door.base, { path: `/a2a/rest/${path}`, method, headers: { 'a2a-version': '1.0' } });
  const idsIn = (text: string): string[] => (JSON.parse(text) as Page).tasks.map((task) => task.id);
  const list = async (params: object): Promise<string[]> => {
    const { result } = await client.call<Page>('ListTasks', params);
    return (result?.tasks ?? []).map((task) => task.id);
  };

  test("a task's id, over every wire", async () => {
    for (const taskId of NAMES) await endedTask(door, taskId);
    for (const taskId of NAMES)
      for (const wire of wires) {
        const { text } = await sendRaw(door.base, wire.call('get', { taskId }));
        const body = JSON.parse(text) as { id: string; result?: { id: string } };
        expect([wire.name, body.result?.id ?? body.id]).toEqual([wire.name, taskId]);
      }
    expect((await list({ pageSize: 100 })).sort()).toEqual([...NAMES].sort());
  });

  test.each(verbs)(
    '%s of a task whose id cannot be is told that there is none, before any SQL',
    async (verb) => {
      for (const taskId of IMPOSSIBLE_NAMES)
        for (const wire of wires.filter((each) => canSay(each, taskId))) {
          statements = [];
          const { text } = await sendRaw(door.base, wire.call(verb, { taskId }));
          expect([wire.name, taskId, text]).toEqual([
            wire.name,
            taskId,
            expect.stringMatching(/task not found/i),
          ]);
          const quoted = JSON.stringify(taskId).slice(1, -1);
          expect(statements.filter((args) => args.includes(quoted))).toEqual([]);
        }
    },
  );

  test("a context's id", async () => {
    for (const contextId of NAMES) {
      const { result } = await client.send({ text: 'done', contextId });
      expect(result?.task?.contextId).toBe(contextId);
      expect(await list({ contextId })).toEqual([result?.task?.id]);
      const { text } = await rest(`tasks?contextId=${encodeURIComponent(contextId)}`);
      expect(idsIn(text)).toEqual([result?.task?.id]);
    }
    for (const contextId of IMPOSSIBLE_NAMES) {
      expect((await client.send({ text: 'done', contextId })).error?.code).toBe(-32602);
      expect((await client.call('ListTasks', { contextId })).error?.code).toBe(-32602);
    }
  });

  test("a message's id", async () => {
    const taskId = (await client.send({ text: 'ask what?', messageId: 'first' })).result?.task?.id ?? '';
    const say = (messageId: string): Promise<Answer<unknown>> =>
      client.send({ text: 'ask again', taskId, messageId });
    const said = async (): Promise<string[]> =>
      ((await client.get(taskId)).result?.history ?? []).flatMap(({ role, messageId }) =>
        role === 'ROLE_USER' ? messageId : [],
      );
    for (const messageId of NAMES) await say(messageId);
    expect(await said()).toEqual(['first', ...NAMES]);
    for (const messageId of NAMES) await say(messageId);
    expect(await said()).toEqual(['first', ...NAMES]);
    for (const messageId of IMPOSSIBLE_NAMES) expect((await say(messageId)).error?.code).toBe(-32602);
  });

  test('a tenant', async () => {
    for (const tenant of NAMES) {
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'done' }] };
      const { result } = await client.call<{ task: WireTask }>('SendMessage', { tenant, message });
      expect(await list({ tenant })).toEqual([result?.task.id]);
      expect(idsIn((await rest(`${encodeURIComponent(tenant)}/tasks`)).text)).toEqual([result?.task.id]);
    }
    for (const tenant of IMPOSSIBLE_NAMES) {
      expect((await client.call('ListTasks', { tenant })).error?.code).toBe(-32602);
      if (!tenant.isWellFormed()) continue;
      expect((await rest(`${encodeURIComponent(tenant)}/tasks`)).status).toBe(400);
    }
  });

  test("a webhook's id", async () => {
    const taskId = (await client.send({ text: 'done' })).result?.task?.id ?? '';
    const path = (id: string): string => `tasks/${taskId}/pushNotificationConfigs/${encodeURIComponent(id)}`;
    const left = async (): Promise<string[]> => {
      const { text } = await rest(`tasks/${taskId}/pushNotificationConfigs`);
      return ((JSON.parse(text) as { configs?: { id: string }[] }).configs ?? []).map(({ id }) => id).sort();
    };
    for (const id of NAMES) await client.call('CreateTaskPushNotificationConfig', { taskId, id, url: HOOK });
    expect(await left()).toEqual([...NAMES].sort());
    for (const id of NAMES) expect(JSON.parse((await rest(path(id))).text)).toMatchObject({ id });
    const [kept, gone] = [NAMES.filter((_, at) => at % 2 === 0), NAMES.filter((_, at) => at % 2 === 1)];
    for (const id of gone) expect((await rest(path(id), 'DELETE')).status).toBe(204);
    expect(await left()).toEqual([...kept].sort());
    for (const id of IMPOSSIBLE_NAMES) {
      const made = await client.call('CreateTaskPushNotificationConfig', { taskId, id, url: HOOK });
      expect(made.error?.code).toBe(-32602);
    }
  });

  test('an owner, and the tenant of one', async () => {
    for (const as of [(name: string) => principal(name, ''), (name: string) => principal('one', name)]) {
      const made = new Map<string, string>();
      for (const name of NAMES) {
        const { text } = await sendRaw(door.base, as(name)(wires[1]!.call('send', { taskId: '' })));
        made.set(name, (JSON.parse(text) as { task: WireTask }).task.id);
      }
      for (const [name, taskId] of made) {
        const { text } = await sendRaw(door.base, as(name)(listRequest));
        expect(idsIn(text)).toEqual([taskId]);
        const other = NAMES.find((each) => each !== name) ?? '';
        const refused = await sendRaw(door.base, as(other)(wires[1]!.call('get', { taskId })));
        expect(refused.status).toBe(404);
      }
    }
  });

  test('an owner or a tenant that cannot be stored is refused, with every verb', async () => {
    const before = await door.rows?.counts();
    for (const name of IMPOSSIBLE_NAMES)
      for (const as of [principal(name, ''), principal('one', name)]) {
        for (const verb of verbs) {
          const { text } = await sendRaw(door.base, as(wires[0]!.call(verb, { taskId: randomUUID() })));
          expect([name, verb, (JSON.parse(text) as Answer<unknown>).error?.code]).toEqual([
            name,
            verb,
            -32602,
          ]);
        }
        expect((await sendRaw(door.base, as(listRequest))).status).toBe(400);
        expect((await sendRaw(door.base, as(wires[1]!.call('send', { taskId: '' })))).status).toBe(400);
      }
    expect(await door.rows?.counts()).toBe(before);
  });
});

const listRequest: RawRequest = { path: '/a2a/rest/tasks', headers: { 'a2a-version': '1.0' } };

/** Sends a request as somebody. */
function principal(userName: string, tenant: string): (request: RawRequest) => RawRequest {
  const header = Buffer.from(JSON.stringify({ userName, tenant })).toString('base64');
  return (request) => ({ ...request, headers: { ...request.headers, 'x-principal': header } });
}

/** No address can hold half a character, and a server takes none of thousands of letters in three times as many. */
function canSay(wire: Wire, name: string): boolean {
  return wire.name.startsWith('JSON-RPC') || name.isWellFormed();
}

/** Stores a task that has ended, under a name that we would not give it. */
async function endedTask(door: FrontDoor, taskId: string): Promise<void> {
  const state = TaskState.TASK_STATE_COMPLETED;
  const data = newTask(taskId, 'context', state);
  const made = await door.database.journal.createTask({
    taskId,
    contextId: 'context',
    scope: nobody,
    holder: DEAD,
    ttlMs: 1_000,
    state: stateName(state),
    statusTimestamp: null,
    terminal: true,
    clearsPending: true,
    snapshot: null,
    events: [{ kind: 'task', payload: encodeEvent({ kind: 'task', data }), writeId: randomUUID() }],
  });
  if (!made.ok) throw new Error(`${taskId} was refused`);
}
