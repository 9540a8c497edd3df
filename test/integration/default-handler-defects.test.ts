import { afterEach, beforeAll, afterAll, describe, expect, test } from '@jest/globals';
import { TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { agentMessage, artifactEvent, newTask, statusEvent, taskEvent } from './support/events.js';
import { violations } from './support/invariants.js';
import { callContext, agent, startInProcess, type InProcessReplica } from './support/replica-in-process.js';
import { Recording, stateOf, textOf } from './support/recording.js';
import { TTL_MS } from './support/replica-process.js';
import { startWebhook } from './support/webhook.js';
import { waitUntil } from './support/wait-until.js';

/** An agent that can be told to go on, and to do what is under test. */
function gated(after: (turn: Parameters<AgentExecutor['execute']>) => void | Promise<void>): {
  readonly executor: AgentExecutor;
  goOn(): void;
  readonly cancels: string[];
} {
  let goOn = (): void => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const cancels: string[] = [];
  const executor = agent(
    async (context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING, 'working'));
      await gate;
      await after([context, bus]);
    },
    (taskId) => {
      cancels.push(taskId);
      return Promise.resolve();
    },
  );
  return { executor, goOn: () => goOn(), cancels };
}

describe.each(availableProviders())('what DefaultRequestHandler gets wrong, on %s:', (provider) => {
  let testDatabase: TestDatabase;
  const open: InProcessReplica[] = [];

  beforeAll(async () => {
    testDatabase = await createTestDatabase({ provider });
  });
  afterEach(async () => {
    for (const replica of open.splice(0)) await replica.close();
    expect(await violations(testDatabase.url)).toEqual([]);
  });
  afterAll(() => testDatabase.drop());

  async function replicas(
    count: number,
    executor: AgentExecutor,
    database?: Database,
  ): Promise<InProcessReplica[]> {
    const started = await Promise.all(
      Array.from({ length: count }, () =>
        startInProcess({
          executor,
          cancelGraceMs: 300,
          ...(database ? { database } : { databaseUrl: testDatabase.url }),
        }),
      ),
    );
    open.push(...started);
    return started;
  }

  const started = async (
    replica: InProcessReplica,
  ): Promise<{ readonly caller: Recording; readonly taskId: string }> => {
    const caller = new Recording(replica.client.stream({ text: 'go' }));
    const taskId = await caller.taskId();
    await caller.find((event) => textOf(event) === 'working');
    return { caller, taskId };
  };
  const stateOfTask = async (replica: InProcessReplica, taskId: string): Promise<string | undefined> =>
    (await replica.client.get(taskId)).result?.status.state;

  test('P1: what a subscriber is told is in the store already', async () => {
    const work = gated(([context, bus]) => {
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a, b] = (await replicas(2, work.executor)) as [InProcessReplica, InProcessReplica];
    const { taskId, caller } = await started(a);
    expect(await stateOfTask(b, taskId)).toBe('TASK_STATE_WORKING');
    work.goOn();
    await caller.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
    expect(await stateOfTask(b, taskId)).toBe('TASK_STATE_COMPLETED');
  });

  test('P2: a second send to a running task leaves its turn, stream and artifacts alone', async () => {
    const work = gated(([context, bus]) => {
      bus.publish(artifactEvent(context, 'kept', false));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a] = (await replicas(1, work.executor)) as [InProcessReplica];
    const { taskId, caller } = await started(a);
    expect((await a.client.send({ text: 'again', taskId })).error?.code).toBe(-32004);
    work.goOn();
    expect(await caller.ended).toBeNull();
    const task = (await a.client.get(taskId)).result;
    expect(task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(task?.artifacts).toHaveLength(1);
  });

  test('P3: after a cancel an artifact is stored once and every event is pushed once', async () => {
    const webhook = await startWebhook();
    const stop = { requested: (): void => {} };
    const requested = new Promise<void>((resolve) => (stop.requested = resolve));
    const executor = agent(
      async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING, 'working'));
        bus.publish(artifactEvent(context, 'part', false));
        await requested;
        bus.publish(artifactEvent(context, 'more', true));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_CANCELED));
      },
      () => Promise.resolve(stop.requested()),
    );
    const [a] = (await replicas(1, executor)) as [InProcessReplica];
    const configuration = { taskPushNotificationConfig: { url: webhook.url } };
    const caller = new Recording(a.client.stream({ text: 'go', configuration }));
    const taskId = await caller.taskId();
    await caller.find((event) => event.artifactUpdate !== undefined);
    const cancelled = await a.client.cancel(taskId);
    expect(cancelled.result?.artifacts?.[0]?.parts.map((part) => part.text)).toEqual(['part', 'more']);
    await webhook.find((body) => stateOf(body) === 'TASK_STATE_CANCELED');
    expect(webhook.bodies).toHaveLength(5);
    await webhook.close();
  });

  test('P4: a write that fails once costs neither stream nor task', async () => {
    const database = await createDatabase({ url: testDatabase.url, ttlMs: TTL_MS, poolSize: 4 });
    const failing = failOnce(database);
    const work = gated(([context, bus]) => {
      failing.arm();
      bus.publish(artifactEvent(context, 'kept', false));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a] = (await replicas(1, work.executor, failing.database)) as [InProcessReplica];
    const { taskId, caller } = await started(a);
    work.goOn();
    expect(await caller.ended).toBeNull();
    expect(failing.failed()).toBe(1);
    expect((await a.client.get(taskId)).result).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
    for (const replica of open.splice(0)) await replica.close();
    await database.close();
  });

  test('P5: a cancel on another replica reaches the executor, and nothing late changes the task', async () => {
    let late: (() => void) | undefined;
    const executor = agent(
      async (context, bus) => {
        bus.publish(taskEvent(context));
        bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING, 'working'));
        late = () => {
          bus.publish(artifactEvent(context, 'late', false));
          const { taskId, contextId } = context;
          bus.publish({ kind: 'task', data: newTask(taskId, contextId, TaskState.TASK_STATE_WORKING) });
        };
        await new Promise(() => {});
      },
      (taskId, bus) => {
        told.push(taskId);
        bus.publish(statusEvent({ taskId, contextId: '' } as never, TaskState.TASK_STATE_CANCELED));
        return Promise.resolve();
      },
    );
    const told: string[] = [];
    const [a, b] = (await replicas(2, executor)) as [InProcessReplica, InProcessReplica];
    const { taskId, caller } = await started(a);
    expect((await b.client.cancel(taskId)).result?.status.state).toBe('TASK_STATE_CANCELED');
    expect(told).toEqual([taskId]);
    expect(await caller.ended).toBeNull();
    late?.();
    const task = (await b.client.get(taskId)).result;
    expect(task?.status.state).toBe('TASK_STATE_CANCELED');
    expect(task?.artifacts ?? []).toHaveLength(0);
  });

  test('P5c: a subscription on another replica follows the turn to its end', async () => {
    const work = gated(([context, bus]) => {
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a, b] = (await replicas(2, work.executor)) as [InProcessReplica, InProcessReplica];
    const { taskId } = await started(a);
    const watcher = new Recording(b.client.subscribe(taskId));
    await watcher.taskId();
    work.goOn();
    expect(await watcher.ended).toBeNull();
    expect(watcher.states().at(-1)).toBe('TASK_STATE_COMPLETED');
  });

  test('P6: two turns that write at the same time on two replicas lose nothing of each other', async () => {
    const executor = agent(async (context, bus) => {
      bus.publish(taskEvent(context));
      for (let chunk = 0; chunk < 20; chunk++) {
        bus.publish(artifactEvent(context, `${chunk}`, chunk > 0));
        await new Promise((resolve) => setImmediate(resolve));
      }
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const both = await replicas(2, executor);
    const answers = await Promise.all(both.map((replica) => replica.client.send({ text: 'go' })));
    for (const answer of answers) expect(answer.result?.task?.artifacts?.[0]?.parts).toHaveLength(20);
  });

  test('P7: an executor that throws at once leaves a FAILED task and nothing running', async () => {
    const executor = agent(() => {
      throw new Error('at once');
    });
    const [a] = (await replicas(1, executor)) as [InProcessReplica];
    const answer = await a.client.send({ text: 'go' });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_FAILED');
    expect(a.cluster.status()).toMatchObject({ runningTurns: 0, heldLeases: 0, stream: { tails: 0 } });
  });

  test('P8: a client that disconnects is noticed, and the turn goes on', async () => {
    const work = gated(([context, bus]) => {
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a] = (await replicas(1, work.executor)) as [InProcessReplica];
    const leaving = new AbortController();
    const caller = new Recording(a.client.stream({ text: 'go' }, leaving.signal));
    const taskId = await caller.taskId();
    leaving.abort();
    const freed = (): Promise<true | undefined> =>
      Promise.resolve(a.cluster.status().stream.tails === 0 || undefined);
    await waitUntil({ what: 'the tail is freed', limitMs: 1_000, ask: freed });
    work.goOn();
    const completed = async (): Promise<true | undefined> =>
      (await stateOfTask(a, taskId)) === 'TASK_STATE_COMPLETED' || undefined;
    await waitUntil({ what: 'the task completes', limitMs: 5_000, ask: completed });
  });

  test('P9: a consumer that stops reading a stream stops nothing else', async () => {
    const work = gated(([context, bus]) => {
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
    });
    const [a] = (await replicas(1, work.executor)) as [InProcessReplica];
    const params = {
      tenant: '',
      metadata: undefined,
      configuration: undefined,
      message: { ...agentMessage({ taskId: '', contextId: '' }, 'go'), role: 1 },
    };
    const stream = a.cluster.requestHandler.sendMessageStream(params, callContext('unknown'));
    const first = (await stream.next()).value as StreamResponse;
    await stream.return();
    work.goOn();
    const { id } = first.payload?.value as Task;
    const completed = async (): Promise<true | undefined> =>
      (
        await a.cluster.requestHandler.getTask(
          { id, tenant: '', historyLength: undefined },
          callContext('unknown'),
        )
      ).status?.state === TaskState.TASK_STATE_COMPLETED || undefined;
    await waitUntil({ what: 'the task completes', limitMs: 5_000, ask: completed });
    expect(a.cluster.status().stream.tails).toBe(0);
  });

  test('P10: a task that waits for input is answered on any replica, and holds nothing in memory meanwhile', async () => {
    const executor = agent(async (context, bus) => {
      bus.publish(taskEvent(context));
      const state = context.task ? TaskState.TASK_STATE_COMPLETED : TaskState.TASK_STATE_INPUT_REQUIRED;
      bus.publish(statusEvent(context, state));
      await Promise.resolve();
    });
    const [a, b] = (await replicas(2, executor)) as [InProcessReplica, InProcessReplica];
    const parked = await a.client.send({ text: 'go' });
    const idle = (): Promise<true | undefined> =>
      Promise.resolve(a.cluster.status().runningTurns === 0 || undefined);
    await waitUntil({ what: 'nothing runs', limitMs: 1_000, ask: idle });
    expect(a.cluster.status()).toMatchObject({ heldLeases: 0, stream: { tails: 0, watchedTasks: 0 } });
    const answer = await b.client.send({ text: 'more', taskId: parked.result!.task!.id });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('P11: a final state inside a task event answers a blocking send before execute returns', async () => {
    const executor = agent(async (context, bus) => {
      const { taskId, contextId } = context;
      bus.publish({ kind: 'task', data: newTask(taskId, contextId, TaskState.TASK_STATE_COMPLETED) });
      await new Promise(() => {});
    });
    const [a] = (await replicas(1, executor)) as [InProcessReplica];
    const answer = await a.client.send({ text: 'go' });
    expect(answer.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });

  test('P12: a cancel of a task that waits for input does not hang on an agent that only sets a flag', async () => {
    const executor = agent(async (context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_INPUT_REQUIRED));
      await Promise.resolve();
    });
    const [a, b] = (await replicas(2, executor)) as [InProcessReplica, InProcessReplica];
    const parked = await a.client.send({ text: 'go' });
    expect((await b.client.cancel(parked.result!.task!.id)).result?.status.state).toBe('TASK_STATE_CANCELED');
  });
});

/** A database whose next commit fails once without having stored anything. */
function failOnce(database: Database): { readonly database: Database; arm(): void; failed(): number } {
  let armed = false;
  let failures = 0;
  const { journal } = database;
  const failing = {
    createTask: journal.createTask.bind(journal),
    openTurn: journal.openTurn.bind(journal),
    cancel: journal.cancel.bind(journal),
    sweep: journal.sweep.bind(journal),
    sweepOrphans: journal.sweepOrphans.bind(journal),
    look: journal.look.bind(journal),
    findOwnWrite: journal.findOwnWrite.bind(journal),
    commit: (commit: Parameters<typeof journal.commit>[0]) => {
      if (!armed) return journal.commit(commit);
      armed = false;
      failures++;
      return Promise.reject(new Error('a fault made by the test'));
    },
  };
  const proxy = new Proxy(database, {
    get: (target, name) => {
      if (name === 'journal') return failing;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  return { database: proxy, arm: () => (armed = true), failed: () => failures };
}
