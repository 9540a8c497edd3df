import { EventEmitter } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { artifactEvent, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import {
  createClusterRequestHandler,
  createStreamingMiddleware,
  resolveHandlerOptions,
  RunningTurns,
  turnOf,
} from '../src/index.js';
import { currentConnection } from '../src/request-signal.js';
import {
  contextOf,
  executor,
  gate,
  logOf,
  replicasOfTest,
  request,
  send,
  stateOf,
  told,
  until,
} from './support.js';

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const start = replicasOfTest();

/** An HTTP response of which only its bufferedness matters. */
class FakeResponse extends EventEmitter {
  writableNeedDrain = false;
  destroyed = false;
  writableFinished = false;
  writableLength = 0;
  /** What the middleware asked for: fires when nothing has moved for that long. */
  quiet: { readonly delayMs: number; readonly listener: () => void } | null = null;

  setTimeout(delayMs: number, listener: () => void): void {
    this.quiet = { delayMs, listener };
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** Runs `work` as a request behind the streaming middleware. */
function behind<T>(response: FakeResponse, work: () => T): T {
  let result!: T;
  createStreamingMiddleware()(null, response, () => void (result = work()));
  return result;
}

/** Publishes the task and `count` chunks, then completes when the gate opens. */
function chunks(count: number, finish: Promise<unknown> = Promise.resolve()) {
  return executor(async (context, bus) => {
    bus.publish(taskEvent(context));
    for (let i = 0; i < count; i++) bus.publish(artifactEvent(context, `${i}`, i > 0));
    await finish;
    bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
  });
}

describe('a client', () => {
  test('that goes away frees its tail, and the turn goes on', async () => {
    const finish = gate();
    const replica = await start({ executor: chunks(1, finish.passed) });
    const response = new FakeResponse();
    const ended = behind(response, async () => {
      for await (const event of replica.handler.sendMessageStream(request('go'), contextOf())) void event;
    });
    await until(() => replica.stream.status().tails === 1);
    response.emit('close');
    await ended;
    expect(replica.stream.status().tails).toBe(0);
    expect(replica.handler.runningTurns).toBe(1);
    finish.open();
    await until(() => replica.handler.runningTurns === 0);
    const { rows } = await replica.database.tasks.list({ scope: null, limit: 1 });
    expect(rows[0]?.state).toBe('TASK_STATE_COMPLETED');
  });

  test('that has the whole answer has not gone away', () => {
    const response = new FakeResponse();
    const connection = behind(response, currentConnection);
    response.writableFinished = true;
    response.emit('close');
    expect(connection?.signal.aborted).toBe(false);
  });

  test('that reads slowly is not written to before it has room, and misses nothing', async () => {
    const replica = await start({ executor: chunks(3) });
    const response = new FakeResponse();
    const seen: string[] = [];
    const ended = behind(response, async () => {
      for await (const event of replica.handler.sendMessageStream(request('go'), contextOf())) {
        seen.push(...told([event]));
        response.writableNeedDrain = true;
      }
    });
    await until(() => replica.handler.runningTurns === 0 && seen.length > 0);
    expect(seen).toEqual(['task']);
    for (let expected = 2; expected <= 5; expected++) {
      response.writableNeedDrain = false;
      response.emit('drain');
      await until(() => seen.length === expected);
    }
    response.emit('drain');
    await ended;
    expect(seen).toEqual(['task', ...Array(3).fill('artifactUpdate'), 'COMPLETED']);
    expect(response.listenerCount('drain')).toBe(0);
  });

  test('that goes away while it is slow is not waited for', async () => {
    const replica = await start({ executor: chunks(3) });
    const response = new FakeResponse();
    response.writableNeedDrain = true;
    const ended = behind(response, async () => {
      for await (const event of replica.handler.sendMessageStream(request('go'), contextOf())) void event;
    });
    await until(() => response.listenerCount('drain') === 1);
    response.emit('close');
    await ended;
    expect(replica.stream.status().tails).toBe(0);
  });

  test('that goes away while it waits for an answer changes nothing', async () => {
    const finish = gate();
    const replica = await start({ executor: chunks(0, finish.passed) });
    const response = new FakeResponse();
    const answer = behind(response, () => send(replica, request('go')));
    await until(() => replica.stream.status().tails === 1 && replica.handler.runningTurns === 1);
    response.emit('close');
    await answer.catch(() => {});
    finish.open();
    await until(() => replica.handler.runningTurns === 0);
  });

  test.each([
    [undefined, 2],
    [0, 0],
    [1, 1],
    [-1, 0],
  ])(
    'that asks for %p messages of history is given that many, sent or streamed',
    async (historyLength, expected) => {
      const replica = await start({
        executor: executor(async (context, bus) => {
          bus.publish(taskEvent(context));
          if (context.task) bus.publish(statusEvent(context, TASK_STATE_COMPLETED));
          else bus.publish(statusEvent(context, TASK_STATE_INPUT_REQUIRED));
        }),
      });
      const { id } = await send(replica, request('go'));
      const message = request('this', { taskId: id });
      const asked = { ...message, configuration: { ...message.configuration!, historyLength } };
      const events = replica.handler.sendMessageStream(asked, contextOf());
      const { value } = await events.next();
      const first = value?.payload?.$case === 'task' ? value.payload.value : undefined;
      expect(first?.history).toHaveLength(expected);
      for await (const event of events) void event;
      const again = (await replica.handler.sendMessage(asked, contextOf())) as { history: unknown[] };
      expect(again.history).toHaveLength(expected);
    },
  );

  test('of a returnImmediately send has the first event, whatever follows', async () => {
    const finish = gate();
    const replica = await start({ executor: chunks(2, finish.passed) });
    const task = await send(replica, request('go', { immediately: true }));
    expect(stateOf(task)).toBe('SUBMITTED');
    finish.open();
    await until(() => replica.handler.runningTurns === 0);
    expect(await logOf(replica.database, task.id)).toHaveLength(4);
  });
});

describe('half a cluster', () => {
  test('is refused at construction with the missing parts named', () => {
    const database = createMemoryDatabase();
    const parts = { journal: database.journal, executor: chunks(0) } as never;
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID' });
    const made = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return error;
      }
    };
    expect(made(() => createClusterRequestHandler(parts))).toEqual(refused);
    expect(() => createClusterRequestHandler(parts)).toThrow(/lacks card, inner, .*stream, turns/);
    expect(() => new RunningTurns({ journal: {}, stream: {} } as never)).toThrow(/lacks heartbeat, clock/);
    expect(() => createClusterRequestHandler(undefined as never)).toThrow(/lacks card/);
  });

  test('options that are no sensible numbers are refused, all of them at once', () => {
    const lease = { heartbeatMs: 1, trustMs: 1 };
    expect(() => resolveHandlerOptions({ maxConcurrentTurns: 0, drainTimeoutMs: 1.5 }, lease)).toThrow(
      /maxConcurrentTurns is 0.*drainTimeoutMs is 1.5/,
    );
  });

  test('a context of another handler has no turn', () => {
    expect(() => turnOf({} as never)).toThrow('does not come from a cluster request handler');
  });
});
