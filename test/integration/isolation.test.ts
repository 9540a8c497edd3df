import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { A2AClient, type WireTask } from './support/a2a-client.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { sendRaw, type RawAnswer, type RawRequest } from './support/raw-request.js';
import { Recording } from './support/recording.js';
import { createTellingAgent } from './support/telling-agent.js';
import { HOOK, verbs, wires, withToken, type Target } from './support/wires.js';

const AUTH_TOKENS = 'alice=alice,bob=bob,alice-acme=alice@acme,bob-acme=bob@acme';
/** Everybody but alice in the tenant without a name. */
const OTHERS = ['bob', 'alice-acme', 'bob-acme'];
const EVERYBODY = ['alice', ...OTHERS];

/** Names that everybody's tasks have in common: only tenant and owner part them. */
const CONTEXT = 'a-context-of-all';
const MESSAGE = 'a-message-of-all';
const CONFIG = 'a-config-of-all';

interface Page {
  readonly tasks: readonly WireTask[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

describe.each([...availableProviders(), 'memory' as const])(
  'between tenants and owners, on %s',
  (provider) => {
    let door: FrontDoor;
    /** Three tasks of each: one that waits for input, one that runs, one that has ended. */
    const tasks = new Map<
      string,
      { readonly waits: string; readonly runs: string; readonly ended: string }
    >();
    const running: Recording[] = [];

    const as = (token: string): A2AClient => new A2AClient(door.base, token);
    const ask = (token: string, request: RawRequest): Promise<RawAnswer> =>
      sendRaw(door.base, withToken(request, token));
    const idsOf = (token: string): readonly string[] => Object.values(tasks.get(token) ?? {});
    const list = async (token: string, params: object): Promise<Page> => {
      const { result } = await as(token).call<Page>('ListTasks', params);
      if (result === undefined) throw new Error('the list was refused');
      return result;
    };

    beforeAll(async () => {
      for (const method of ['error', 'warn'] as const)
        jest.spyOn(console, method).mockImplementation(() => {});
      door = await openFrontDoor({ provider, authTokens: AUTH_TOKENS, executor: createTellingAgent() });
      for (const token of EVERYBODY) {
        const client = as(token);
        const make = async (text: string): Promise<string> => {
          const { result } = await client.send({ text, contextId: CONTEXT, messageId: MESSAGE });
          return result?.task?.id ?? '';
        };
        const stream = new Recording(client.stream({ text: 'tick 1 0; sleep 600000', contextId: CONTEXT }));
        running.push(stream);
        const own = {
          waits: await make('ask what?'),
          ended: await make('done'),
          runs: await stream.taskId(),
        };
        await stream.find((event) => event.statusUpdate?.status.state === 'TASK_STATE_WORKING');
        tasks.set(token, own);
        for (const taskId of Object.values(own))
          await client.call('CreateTaskPushNotificationConfig', { taskId, id: CONFIG, url: HOOK });
      }
    });
    afterAll(async () => {
      await door.close();
      await Promise.all(running.map((stream) => stream.ended));
      jest.restoreAllMocks();
    });

    /** All that its owner can see of a task. */
    const view = async (taskId: string): Promise<string> => {
      const configs = await as('alice').call('ListTaskPushNotificationConfigs', { taskId });
      const task = await as('alice').get(taskId);
      return JSON.stringify([task.result, configs.result, await door.rows?.events(taskId)]);
    };

    describe.each(wires)('over $name', (wire) => {
      test.each(verbs)("%s of another's task is answered as if there were none", async (verb) => {
        const before = await Promise.all(idsOf('alice').map(view));
        const says = verb === 'send' || verb === 'stream';
        const names = [{}, { contextId: CONTEXT }, { contextId: 'another' }, { messageId: MESSAGE }];
        for (const more of says ? names : [{}]) {
          const target = { configId: CONFIG, ...more };
          const missing = randomUUID();
          const nobodys = await ask('bob', wire.call(verb, { ...target, taskId: missing }));
          expect(nobodys.text).toMatch(/not found/i);
          for (const taskId of idsOf('alice'))
            for (const token of OTHERS) {
              const theirs = await ask(token, wire.call(verb, { ...target, taskId }));
              expect(without(theirs, taskId)).toEqual(without(nobodys, missing));
            }
        }
        expect(await Promise.all(idsOf('alice').map(view))).toEqual(before);
      });

      test('a message into a context of that name makes a task of its own', async () => {
        for (const token of OTHERS) {
          const target: Target = { taskId: '', contextId: CONTEXT, messageId: MESSAGE, text: 'tell' };
          const answer = await ask(token, wire.call('send', target));
          expect(answer.text).toMatch(/given: /);
          for (const taskId of idsOf('alice')) expect(answer.text).not.toContain(taskId);
        }
      });
    });

    test('a list shows only what is its own, however it is filtered', async () => {
      const states = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'];
      const filters = [
        {},
        { contextId: CONTEXT },
        { pageSize: 1 },
        { includeArtifacts: true, historyLength: 100 },
        { statusTimestampAfter: '2000-01-01T00:00:00Z' },
        ...states.flatMap((status) => [{ status }, { status, contextId: CONTEXT }]),
      ];
      for (const token of EVERYBODY) {
        const all = await everyPage((pageToken) => list(token, { pageToken }));
        expect(all).toEqual(expect.arrayContaining([...idsOf(token)]));
        for (const filter of filters) {
          const first = await list(token, filter);
          const listed = await everyPage((pageToken) => list(token, { ...filter, pageToken }));
          expect(first.totalSize).toBe(listed.length);
          expect(all).toEqual(expect.arrayContaining(listed));
          const query = new URLSearchParams();
          for (const [name, value] of Object.entries(filter)) query.set(name, String(value));
          const path = `/a2a/rest/tasks?${query.toString()}`;
          const answer = await ask(token, { path, headers: { 'a2a-version': '1.0' } });
          expect(JSON.parse(answer.text)).toEqual(first);
        }
        const others = EVERYBODY.filter((other) => other !== token).flatMap((other) => [...idsOf(other)]);
        expect(all.filter((id) => others.includes(id))).toEqual([]);
      }
    });

    test("a page token is a place: another's, of another list, or made up, it shows nothing of others", async () => {
      const foreign = EVERYBODY.filter((other) => other !== 'bob').flatMap((other) => [...idsOf(other)]);
      const { nextPageToken } = await list('alice', { pageSize: 1 });
      expect(nextPageToken).not.toBe('');
      const forged = idsOf('alice').map((id) =>
        Buffer.from(`9999-12-31T23:59:59.999Z|${id}`).toString('base64'),
      );
      for (const pageToken of [nextPageToken, ...forged]) {
        for (const filter of [
          {},
          { contextId: CONTEXT },
          { status: 'TASK_STATE_COMPLETED' },
          { pageSize: 1 },
        ]) {
          const page = await list('bob', { ...filter, pageToken });
          expect(page.tasks.filter((task) => foreign.includes(task.id))).toEqual([]);
          expect(page.totalSize).toBe((await list('bob', filter)).totalSize);
        }
      }
    });

    test('a page token that was tampered with is malformed', async () => {
      const { nextPageToken: token } = await list('alice', { pageSize: 1 });
      const tampered = [
        `${token}=`,
        `*${token}`,
        token.slice(0, 8),
        `${token}${token}`,
        token.split('').reverse().join(''),
      ];
      for (const pageToken of tampered) {
        const { error } = await as('alice').call('ListTasks', { pageToken });
        expect([pageToken, error?.code]).toEqual([pageToken, -32602]);
      }
    });

    test("a reference to another's task gives the agent nothing", async () => {
      const message = { messageId: 'r', role: 'ROLE_USER', parts: [{ text: 'tell' }] };
      for (const token of EVERYBODY) {
        const referenceTaskIds = EVERYBODY.flatMap((other) => [...idsOf(other)]);
        const { result } = await as(token).call<{ task: WireTask }>('SendMessage', {
          message: { ...message, referenceTaskIds },
        });
        const said = result?.task.status.message?.parts[0]?.text ?? '';
        expect(said.split(' ').slice(1).sort()).toEqual([...idsOf(token)].sort());
      }
    });

    test("a webhook goes to the task it is made at, and another's of the same id stays as it was", async () => {
      const mine = tasks.get('bob')?.waits ?? '';
      const theirs = tasks.get('alice')?.waits ?? '';
      const before = await view(theirs);
      const url = 'http://127.0.0.1:9/bob';
      const made = await ask('bob', {
        path: `/a2a/rest/tasks/${mine}/pushNotificationConfigs`,
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ taskId: theirs, id: CONFIG, url, tenant: 'acme' }),
      });
      expect(made.status).toBe(404);
      const sent = await as('bob').call<{ task: WireTask }>('SendMessage', {
        message: { messageId: 'w', role: 'ROLE_USER', parts: [{ text: 'done' }] },
        configuration: { taskPushNotificationConfig: { taskId: theirs, tenant: 'acme', id: CONFIG, url } },
      });
      const configs = await as('bob').call<{ configs: { taskId: string; url: string }[] }>(
        'ListTaskPushNotificationConfigs',
        { taskId: sent.result?.task.id },
      );
      expect(configs.result?.configs).toMatchObject([{ taskId: sent.result?.task.id, url }]);
      expect(await view(theirs)).toBe(before);
    });

    test('another tenant cannot be named, with any verb', async () => {
      const [rpc, rest] = [wires[0]!, wires[1]!];
      for (const verb of verbs)
        for (const wire of [rpc, rest])
          for (const [token, tenant, owner] of [
            ['bob', 'acme', 'bob-acme'],
            ['bob-acme', 'other', 'bob'],
            ['alice-acme', 'ACME', 'alice-acme'],
          ] as const) {
            const taskId = tasks.get(owner)?.waits ?? '';
            const answer = await ask(token, wire.call(verb, { taskId, tenant, configId: CONFIG }));
            const missing = await ask(
              token,
              wire.call(verb, { taskId: randomUUID(), tenant, configId: CONFIG }),
            );
            expect(answer.text).toMatch(/TASK_NOT_FOUND/);
            expect(without(answer, taskId)).toEqual(without(missing, ''));
          }
      for (const path of ['/a2a/rest/acme/tasks', '/a2a/rest/tasks?tenant=acme']) {
        const answer = await ask('bob', { path, headers: { 'a2a-version': '1.0' } });
        expect([path, answer.status]).toEqual([path, 404]);
      }
    });
  },
);

/** An answer without what is of its moment, and without the id it is about. */
function without({ status, headers, text }: RawAnswer, id: string): unknown {
  const { date: _date, etag: _etag, 'x-request-id': _requestId, ...rest } = headers;
  return { status, headers: rest, text: id === '' ? text : text.replaceAll(id, '<id>') };
}

async function everyPage(page: (token: string) => Promise<Page>): Promise<string[]> {
  const ids: string[] = [];
  let token = '';
  do {
    const { tasks, nextPageToken } = await page(token);
    ids.push(...tasks.map((task) => task.id));
    token = nextPageToken;
  } while (token !== '');
  return ids;
}
