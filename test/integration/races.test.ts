import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { Logger } from '@a2a-cluster/core';
import { A2AError, TaskNotCancelableError } from '@a2a-js/sdk/errors';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { messageParams } from './support/a2a-client.js';
import { statusEvent, taskEvent } from './support/events.js';
import { violations } from './support/invariants.js';
import { agent, callContext, startInProcess, type InProcessReplica } from './support/replica-in-process.js';

const ROUNDS = 1_000;
/** Rounds that run beside each other. */
const BESIDE = 10;

/** Faults of the store are no part of this scenario: they are printed where they would otherwise only be counted. */
const faultLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (fields, message) => process.stderr.write(`${message} ${inspect(fields)}\n`),
};

/** A number from 0 up to `below`, scattered over rounds and the same at every run. */
function scattered(round: number, stream: number, below: number): number {
  const mixed = Math.imul(round * 3 + stream + 1, 0x9e3779b1) >>> 0;
  return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
}

describe.each(availableProviders())(
  'cancel, completion and sweep that race for one task, on %s',
  (provider) => {
    let database: TestDatabase;
    let runner: InProcessReplica;
    let other: InProcessReplica;
    const finishers = new Map<string, () => void>();

    beforeAll(async () => {
      database = await createTestDatabase({ provider });
      const executor = agent(async (context, bus) => {
        bus.publish(taskEvent(context));
        await new Promise<void>((resolve) => finishers.set(context.taskId, resolve));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      });
      [runner, other] = (await Promise.all(
        [0, 1].map(() =>
          startInProcess({ databaseUrl: database.url, executor, cancelGraceMs: 20, logger: faultLogger }),
        ),
      )) as [InProcessReplica, InProcessReplica];
    });
    afterAll(async () => {
      await runner.close();
      await other.close();
      await database.drop();
    });

    test('leave one terminal event each, and every loser the right error', async () => {
      const outcomes = { canceled: 0, completed: 0, failed: 0 };
      for (let round = 0; round < ROUNDS; round += BESIDE) {
        const beside = Array.from({ length: BESIDE }, (_, index) => race(round + index));
        for (const state of await Promise.all(beside)) outcomes[state]++;
      }
      expect(outcomes.canceled + outcomes.completed + outcomes.failed).toBe(ROUNDS);
      for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(0);
      expect(await violations(database.url)).toEqual([]);
    }, 300_000);

    async function race(round: number): Promise<'canceled' | 'completed' | 'failed'> {
      const request = messageParams({ text: 'go', configuration: { returnImmediately: true } });
      const started = await runner.client.call<{ task: { id: string } }>('SendMessage', request);
      const id = started.result!.task.id;
      const after = (stream: number, below: number): Promise<void> =>
        new Promise((resolve) => setTimeout(resolve, scattered(round, stream, below)));
      const cancelled = after(0, 20).then(() =>
        other.cluster.requestHandler
          .cancelTask({ id, tenant: '', metadata: undefined }, callContext(''))
          .then(
            (task) => task.status?.state,
            (error: unknown) => error,
          ),
      );
      const completed = after(1, 80).then(() => finishers.get(id)?.());
      const swept = after(2, 80).then(() => runner.cluster.operator.releaseLease(id));
      const [answer] = await Promise.all([cancelled, completed, swept]);
      finishers.delete(id);
      const state = (await other.client.get(id)).result!.status.state;
      if (state === 'TASK_STATE_CANCELED') {
        expect(answer).toBe(TaskState.TASK_STATE_CANCELED);
        return 'canceled';
      }
      expect(answer).toBeInstanceOf(A2AError);
      expect(answer).toBeInstanceOf(TaskNotCancelableError);
      return state === 'TASK_STATE_COMPLETED' ? 'completed' : 'failed';
    }
  },
);
