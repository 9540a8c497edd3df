import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { deaf } from './deaf-agent.js';
import { cancel, contextOf, executor, replicasOfTest, request, send, stateOf, until } from './support.js';

const start = replicasOfTest();
const quick = { ttlMs: 3_000, heartbeatMs: 50, cancelGraceMs: 150 };

describe('places', () => {
  test('are counted by executors that have not returned, also of turns that are over', async () => {
    const agent = deaf();
    const a = await start({ lease: quick, executor: agent, handler: { maxConcurrentTurns: 1 } });
    const { id } = await send(a, request('go', { immediately: true }));
    const tooMany = { metadata: { reason: 'TOO_MANY_TURNS' } };
    await expect(send(a, request('go'))).rejects.toMatchObject(tooMany);
    await cancel(a, id);
    await until(() => a.handler.runningTurns === 0);
    await expect(send(a, request('go'))).rejects.toMatchObject(tooMany);
    agent.late.open();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(stateOf(await send(a, request('go')))).toBe('COMPLETED');
  });

  test('are given back by refused and by failed openings', async () => {
    const a = await start({
      handler: { maxConcurrentTurns: 1 },
      executor: executor(async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      }),
    });
    const uncloneable = { ...request('go'), metadata: { f: () => {} } };
    for (let round = 0; round < 3; round++) {
      await expect(send(a, request('go', { taskId: 'no-such' }))).rejects.toThrow('Task not found');
      await expect(send(a, uncloneable)).rejects.toThrow('Internal error');
    }
    expect(a.handler.runningTurns).toBe(0);
    expect(a.stream.status().tails).toBe(0);
    expect(await a.database.tasks.list({ scope: null, limit: 1 })).toMatchObject({ total: 0 });
    expect(stateOf(await send(a, request('go')))).toBe('COMPLETED');
  });
});

test('an error of the inside reaches a client without its text', async () => {
  const a = await start({ executor: executor(async () => {}) });
  const context = contextOf();
  Object.defineProperty(context, 'user', {
    get: () => {
      throw new Error('secret of the inside');
    },
  });
  await expect(a.handler.sendMessage(request('go'), context)).rejects.toThrow('Internal error.');
  const events = a.handler.sendMessageStream(request('go'), context);
  await expect(events.next()).rejects.toThrow('Internal error.');
  const { inner } = (a.handler as unknown as { parts: { inner: A2ARequestHandler } }).parts;
  inner.getAuthenticatedExtendedAgentCard = () => Promise.reject(new Error('secret of the inside'));
  const card = a.handler.getAuthenticatedExtendedAgentCard({ tenant: '' }, contextOf());
  await expect(card).rejects.toThrow('Internal error.');
});
