import { describe, expect, test } from '@jest/globals';
import { Task as TaskCodec, TaskState, type StreamResponse, type Task } from '@a2a-js/sdk';
import { createTally, type Tally } from '@a2a-cluster/core';
import { createTaskReader } from '@a2a-cluster/task-store';
import { artifactEvent, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import {
  contextOf,
  executor,
  gate,
  replicasOfTest,
  request,
  send,
  stream,
  subscribe,
  told,
  until,
  type Gate,
  type TestReplica,
} from './support.js';

const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const start = replicasOfTest();

/** More events than a replica holds for a stream that is behind. */
const MANY = 2_000;

/** Says a lot once it may, and completes; the artifact is replaced, so that the task stays small. */
function talker(
  go: Gate,
  end: (context: Parameters<typeof taskEvent>[0]) => TaskState = () => TASK_STATE_COMPLETED,
) {
  return executor(async (context, bus) => {
    bus.publish(taskEvent(context));
    await go.passed;
    for (let at = 0; at < MANY; at += 1) bus.publish(artifactEvent(context, `${at}`, false));
    bus.publish(statusEvent(context, end(context)));
  });
}

interface Pruned {
  readonly talking: TestReplica;
  readonly watching: TestReplica;
  readonly tally: Tally;
  readonly go: Gate;
}

async function startTwo(): Promise<Pruned> {
  const go = gate();
  const tally = createTally();
  const talking = await start({ executor: talker(go), telemetry: tally });
  const watching = await start({ executor: talker(go), database: talking.database, telemetry: tally });
  return { talking, watching, tally, go };
}

/** Takes the log of an ended task, as retention does. */
async function prune({ database }: TestReplica, taskId: string): Promise<void> {
  const reader = createTaskReader({ database });
  await until(async () => {
    const stored = await reader.read({ taskId });
    if (stored?.state !== 'TASK_STATE_COMPLETED') return false;
    const snapshot = JSON.stringify(TaskCodec.toJSON(stored.task));
    const tasks = [{ taskId, version: stored.version, snapshot }];
    const { events } = await database.retention.compact({ tasks, endedForMs: 0, maxEvents: 100_000 });
    return events > 0;
  });
}

/** The task that a stream was given in place of events. */
function resetOf(event: StreamResponse | undefined): Task | undefined {
  const task = event?.payload?.$case === 'task' ? event.payload.value : undefined;
  const ours = task?.metadata?.['a2a-cluster'] as { reset?: string } | undefined;
  return ours?.reset === 'pruned' ? task : undefined;
}

async function begin(of: AsyncGenerator<StreamResponse, void, undefined>) {
  const { value } = await of.next();
  if (!value) throw new Error('the stream has not begun');
  return value;
}

async function rest(of: AsyncGenerator<StreamResponse, void, undefined>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of of) events.push(event);
  return events;
}

describe('a slow stream whose events are pruned', () => {
  test('a subscriber gets the whole task, marked, and then the end', async () => {
    const { talking, watching, tally, go } = await startTwo();
    const { id } = await send(talking, request('go', { immediately: true }));
    const slow = watching.handler.resubscribe({ id, tenant: '' }, contextOf());
    await begin(slow);
    go.open();
    await prune(talking, id);
    const events = await rest(slow);
    const reset = resetOf(events.at(-1));
    expect(reset).toMatchObject({ id, status: { state: TASK_STATE_COMPLETED } });
    expect(JSON.stringify(reset?.artifacts)).toContain(`"${MANY - 1}"`);
    // What came before is the log from its beginning, without a gap.
    const texts = events.slice(0, -1).map((event) => JSON.stringify(event));
    expect(texts.every((text, at) => text.includes(`"value":"${at}"`))).toBe(true);
    expect(texts.length).toBeLessThan(MANY);
    expect(tally.total('stream_resets_total')).toBe(1);
    const stored = await createTaskReader({ database: talking.database }).read({ taskId: id });
    expect(JSON.stringify(stored?.task.metadata ?? {})).not.toContain('reset');
    expect(watching.stream.status().tails).toBe(0);
  });

  test('the caller of a message too', async () => {
    const { talking, tally, go } = await startTwo();
    const slow = talking.handler.sendMessageStream(request('go'), contextOf());
    const first = await begin(slow);
    const id = first.payload?.$case === 'task' ? first.payload.value.id : '';
    go.open();
    await prune(talking, id);
    expect(resetOf((await rest(slow)).at(-1))).toMatchObject({ id });
    expect(tally.total('stream_resets_total')).toBe(1);
  });

  test('a subscriber of a task that was deleted is told so', async () => {
    const { talking, watching, tally, go } = await startTwo();
    const { id } = await send(talking, request('go', { immediately: true }));
    const slow = watching.handler.resubscribe({ id, tenant: '' }, contextOf());
    await begin(slow);
    go.open();
    await prune(talking, id);
    await talking.database.retention.purge({ taskIds: [id], endedForMs: 0, maxEvents: 1 });
    await expect(rest(slow)).rejects.toThrow(`Task ${id} has ended and is no longer kept.`);
    expect(tally.total('stream_resets_total')).toBe(0);
  });
});

describe('a task whose log was pruned', () => {
  async function pruned() {
    const { talking, watching, tally, go } = await startTwo();
    go.open();
    const message = request('go');
    const answered = await send(talking, message);
    await prune(talking, answered.id);
    return { talking, watching, tally, answered, message };
  }

  test('is read and listed as before', async () => {
    const { watching, answered } = await pruned();
    const got = await watching.handler.getTask(
      { id: answered.id, tenant: '', historyLength: undefined },
      contextOf(),
    );
    expect(got).toEqual(answered);
  });

  test('cannot be subscribed, cancelled or continued, as before', async () => {
    const { watching, answered } = await pruned();
    const { id } = answered;
    await expect(subscribe(watching, id)).rejects.toThrow('terminal state');
    await expect(
      watching.handler.cancelTask({ id, tenant: '', metadata: undefined }, contextOf()),
    ).rejects.toThrow('not cancelable');
    await expect(send(watching, request('more', { taskId: id }))).rejects.toThrow('terminal state');
  });

  test('answers a message that it had as any other to an ended task: the log knew it', async () => {
    const go = gate();
    go.open();
    let turns = 0;
    const ask = talker(go, () => ((turns += 1) === 1 ? TASK_STATE_INPUT_REQUIRED : TASK_STATE_COMPLETED));
    const replica = await start({ executor: ask });
    const { id } = await send(replica, request('go'));
    const followUp = request('more', { taskId: id });
    const answered = await send(replica, followUp);
    expect(await send(replica, followUp)).toEqual(answered);
    expect(told(await stream(replica, followUp)).at(-1)).toBe('COMPLETED');
    await prune(replica, id);
    await expect(send(replica, followUp)).rejects.toThrow('terminal state');
    await expect(stream(replica, followUp)).rejects.toThrow('terminal state');
  });
});
