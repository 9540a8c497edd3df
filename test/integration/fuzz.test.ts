import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import fc from 'fast-check';
import { availableProviders } from '@a2a-cluster/testing';
import { textOf } from '../../apps/clustermode/src/agent/events.js';
import { wrongForm } from './fuzz/forms.js';
import { requestsAbout } from './fuzz/requests.js';
import { A2AClient } from './support/a2a-client.js';
import { statusEvent, taskEvent } from './support/events.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { sendRaw } from './support/raw-request.js';
import { agent } from './support/replica-in-process.js';
import { withToken } from './support/wires.js';

const { FUZZ_SEED, FUZZ_MS } = process.env;
const seed = Number(FUZZ_SEED ?? randomInt(2 ** 31));
/** How long requests are made up for on one database. */
const limitMs = Number(FUZZ_MS ?? 4_000);
process.stderr.write(`fuzz: FUZZ_SEED=${seed} npm test -- test/integration/fuzz\n`);

/** Ends every turn at once, but for one whose message asks. */
const brief = agent((context, bus) => {
  const asks = textOf(context.userMessage).includes('ask');
  bus.publish(taskEvent(context));
  const state = asks ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED;
  bus.publish(statusEvent(context, state, textOf(context.userMessage).slice(0, 50)));
  return Promise.resolve();
});

/** What only bob has said. */
const SECRET = 'a-secret-of-bob';

describe.each(availableProviders())('whatever is sent to a replica on %s', (provider) => {
  let door: FrontDoor;
  let alice: A2AClient;
  let bob: A2AClient;
  let ownId: string;
  let foreignId: string;

  beforeAll(async () => {
    for (const method of ['error', 'warn'] as const) jest.spyOn(console, method).mockImplementation(() => {});
    door = await openFrontDoor({ provider, authTokens: 'alice=alice,bob=bob@acme', executor: brief });
    alice = new A2AClient(door.base, 'alice');
    bob = new A2AClient(door.base, 'bob');
    ownId = (await alice.send({ text: 'ask' })).result?.task?.id ?? '';
    foreignId = (await bob.send({ text: `ask ${SECRET}`, contextId: 'c' })).result?.task?.id ?? '';
    const config = { taskId: foreignId, id: 'c', url: `http://127.0.0.1:9/${SECRET}` };
    await bob.call('CreateTaskPushNotificationConfig', config);
  });
  afterAll(async () => {
    await door.close();
    jest.restoreAllMocks();
  });

  test('is answered in the form of the protocol, soon, and stored for nobody else', async () => {
    const theirs = async (): Promise<string> =>
      JSON.stringify([
        (await bob.call('ListTasks', { includeArtifacts: true, pageSize: 100 })).result,
        (await bob.call('ListTaskPushNotificationConfigs', { taskId: foreignId })).result,
      ]);
    const before = await theirs();
    let runs = 0;
    const property = fc.asyncProperty(requestsAbout(ownId, foreignId), async (request) => {
      const oneEvent = (text: string): boolean => text.startsWith('data:') && text.includes('\n\n');
      const answer = await sendRaw(door.base, withToken(request, 'alice'), oneEvent);
      const sent = `${request.method ?? ''} ${request.path} ${String(request.body ?? '')}`;
      const { status, text } = answer;
      const wrong = wrongForm(request.path, answer);
      expect(wrong && { wrong, sent, status, text: text.slice(0, 300) }).toBeNull();
      if (!sent.includes(SECRET)) expect(answer.text).not.toContain(SECRET);
      runs += 1;
      if (runs % 20 === 0) expect((await alice.get(ownId)).result?.id).toBe(ownId);
    });
    await fc.assert(property, {
      seed,
      numRuns: 100_000,
      interruptAfterTimeLimit: limitMs,
      endOnFailure: true,
    });
    process.stderr.write(`fuzz: ${runs} requests on ${provider}\n`);
    expect(runs).toBeGreaterThan(20);
    expect(await theirs()).toBe(before);
    expect(await door.rows?.scopes()).toEqual(['/alice', 'acme/bob']);
    expect((await alice.send({ text: 'done' })).result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });
});
