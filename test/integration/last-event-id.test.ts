import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import fc from 'fast-check';
import { turnOf } from '@a2a-cluster/cluster';
import { availableProviders } from '@a2a-cluster/testing';
import { textOf } from '../../apps/clustermode/src/agent/events.js';
import { A2AClient } from './support/a2a-client.js';
import { statusEvent, taskEvent } from './support/events.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { sendRaw } from './support/raw-request.js';
import { Recording } from './support/recording.js';
import { agent } from './support/replica-in-process.js';
import { wires, withToken } from './support/wires.js';

const { FUZZ_SEED, FUZZ_MS } = process.env;
const seed = Number(FUZZ_SEED ?? randomInt(2 ** 31));
/** How long subscriptions are made on one database. */
const limitMs = Number(FUZZ_MS ?? 2_500);
process.stderr.write(`fuzz: FUZZ_SEED=${seed} npm test -- test/integration/last-event-id\n`);

/** Counts aloud until it is told to stop: each number is the text of an event, after the name of the task's owner. */
const counting = agent(async (context, bus) => {
  const { signal } = turnOf(context);
  bus.publish(taskEvent(context));
  for (let count = 1; !signal.aborted; count += 1) {
    bus.publish(
      statusEvent(context, TaskState.TASK_STATE_WORKING, `${textOf(context.userMessage)}-${count}`),
    );
    await delay(15);
  }
});

describe.each(availableProviders())('a subscription with Last-Event-ID, on %s', (provider) => {
  let door: FrontDoor;
  const running = new Map<string, { readonly taskId: string; readonly stream: Recording }>();

  beforeAll(async () => {
    for (const method of ['error', 'warn'] as const) jest.spyOn(console, method).mockImplementation(() => {});
    door = await openFrontDoor({ provider, authTokens: 'alice=alice,bob=bob', executor: counting });
    for (const name of ['alice', 'bob']) {
      const stream = new Recording(new A2AClient(door.base, name).stream({ text: name, contextId: 'c' }));
      running.set(name, { taskId: await stream.taskId(), stream });
    }
  });
  afterAll(async () => {
    await door.close();
    await Promise.all([...running.values()].map(({ stream }) => stream.ended));
    jest.restoreAllMocks();
  });

  test("shows the caller's own task, every event from its first on, in order, whatever the header says", async () => {
    const [own, foreign] = [running.get('alice')!, running.get('bob')!];
    let runs = 0;
    const property = fc.asyncProperty(
      cursors(own.taskId, foreign.taskId),
      fc.constantFrom(...wires),
      async (cursor, wire) => {
        const call = withToken(wire.call('subscribe', { taskId: own.taskId }), 'alice');
        const headers = { ...call.headers, 'last-event-id': cursor };
        // Up to what is said after the question was asked: a stream that only told the past would not get there.
        const now = lastCount(JSON.stringify(own.stream.events.at(-1)));
        const reached = (text: string): boolean => lastCount(text) > now + 2;
        const { status, text } = await sendRaw(door.base, { ...call, headers }, reached);
        expect([wire.name, cursor, status]).toEqual([wire.name, cursor, 200]);
        expect(text).not.toMatch(/bob/);
        expect(idsIn(text)).toEqual([own.taskId]);
        const counts = framesOf(text).map(lastCount);
        // A task may come first, and says how far it is; what follows goes on from there without a gap.
        const [first = 0] = counts;
        expect(counts).toEqual(counts.map((_, index) => first + index));
        runs += 1;
      },
    );
    await fc.assert(property, {
      seed,
      numRuns: 100_000,
      interruptAfterTimeLimit: limitMs,
      endOnFailure: true,
    });
    process.stderr.write(`fuzz: ${runs} subscriptions on ${provider}\n`);
    expect(runs).toBeGreaterThan(3);
  });

  test("opens no other's task, whatever the header says", async () => {
    const { taskId } = running.get('bob')!;
    for (const wire of wires)
      for (const cursor of ['0', '1', taskId, `${taskId}:1`, '-1', '']) {
        const call = withToken(wire.call('subscribe', { taskId }), 'alice');
        const plain = await sendRaw(door.base, call);
        const { text } = await sendRaw(door.base, {
          ...call,
          headers: { ...call.headers, 'last-event-id': cursor },
        });
        expect(text).toMatch(/task not found/i);
        expect([cursor, text]).toEqual([cursor, plain.text]);
      }
  });
});

/** Values a header can carry: places that may be, places that cannot, and noise. */
function cursors(own: string, foreign: string): fc.Arbitrary<string> {
  const number = fc.oneof(
    fc.nat(50).map(String),
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
    fc.double().map(String),
  );
  const of = fc.constantFrom(own, foreign, own.toUpperCase(), 'no-such-task');
  const letter = fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }));
  return fc.oneof(
    number,
    of,
    fc.tuple(of, fc.constantFrom(':', '/', '-', '|', ' '), number).map((parts) => parts.join('')),
    fc.constantFrom(
      '',
      '0',
      '1',
      '2',
      '+1',
      '1.0',
      '1e3',
      '0x1',
      'NaN',
      'null',
      '*',
      '%00',
      "' OR 1=1 --",
      '__proto__',
    ),
    fc.array(letter, { maxLength: 40 }).map((letters) => String.fromCharCode(...letters)),
    fc.constant('9'.repeat(4_000)),
  );
}

/** The whole events of a stream. */
function framesOf(text: string): string[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .filter((frame) => frame.includes('data:'));
}

/** The highest number that was counted in a text; a task has its earlier ones in its history. */
function lastCount(text: string | undefined): number {
  const counts = [...(text ?? '').matchAll(/"alice-(\d+)"/g)].map(([, count]) => Number(count));
  return Math.max(0, ...counts);
}

function idsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/"taskId":"([^"]*)"/g)].map(([, id]) => id ?? ''))];
}
