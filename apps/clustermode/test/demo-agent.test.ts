import { describe, expect, test } from '@jest/globals';
import { Role, TaskState, type Message, type SendMessageRequest, type StreamResponse } from '@a2a-js/sdk';
import {
  DefaultExecutionEventBus,
  DefaultRequestHandler,
  InMemoryTaskStore,
  RequestContext,
  ServerCallContext,
  type AgentExecutionEvent,
} from '@a2a-js/sdk/server';
import { agentCardFor } from '../src/agent/card.js';
import { createDemoAgent } from '../src/agent/demo-agent.js';

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_CANCELED, TASK_STATE_SUBMITTED } = TaskState;
const { TASK_STATE_INPUT_REQUIRED, TASK_STATE_AUTH_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_FAILED } =
  TaskState;
let ids = 0;

describe('the demo agent in the handler of the SDK', () => {
  test('publishes its task first, ticks, and ends in done', async () => {
    const seen = await stream(server(), 'tick 3 1; done all good');
    expect(seen.map(summary)).toEqual([
      [TASK_STATE_SUBMITTED, ''],
      [TASK_STATE_WORKING, 'tick 1/3'],
      [TASK_STATE_WORKING, 'tick 2/3'],
      [TASK_STATE_WORKING, 'tick 3/3'],
      [TASK_STATE_COMPLETED, 'all good'],
    ]);
  });

  test('appends its chunks to one artifact, of exactly the bytes asked for', async () => {
    const seen = await stream(server(), 'chunk 3 40 0');
    const chunks = seen.flatMap((event) =>
      event.payload?.$case === 'artifactUpdate' ? [event.payload.value] : [],
    );
    expect(chunks.map((chunk) => [chunk.append, chunk.lastChunk])).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
    const texts = chunks.flatMap((chunk) => chunk.artifact?.parts ?? []).map((part) => part.content?.value);
    expect(texts.map((text) => Buffer.byteLength(text))).toEqual([40, 40, 40]);
    expect(new Set(texts).size).toBe(3);
    expect(new Set(chunks.map((chunk) => chunk.artifact?.artifactId))).toEqual(new Set(['output']));
  });

  test('answers say with a message and makes no task', async () => {
    const handler = server();
    const result = await handler.sendMessage(request('say hello there'), context());
    expect(result).toMatchObject({ role: Role.ROLE_AGENT, parts: [{ content: { value: 'hello there' } }] });
    expect((await handler.listTasks(listRequest(), context())).tasks).toEqual([]);
  });

  test('asks, and takes the next message as the script of the next turn', async () => {
    const handler = server();
    const first = await stream(handler, 'tick 1 0; ask which one?');
    expect(summary(first.at(-1))).toEqual([TASK_STATE_INPUT_REQUIRED, 'which one?']);
    const taskId = taskIdOf(first);
    const result = await handler.sendMessage(request('done that one', taskId), context());
    expect(result).toMatchObject({ id: taskId, status: { state: TASK_STATE_COMPLETED } });
    const texts =
      'history' in result ? result.history.map((message) => message.parts[0]?.content?.value) : [];
    expect(texts).toEqual([
      'tick 1 0; ask which one?',
      'tick 1/1',
      'which one?',
      'done that one',
      'that one',
    ]);
  });

  test('waits for authorisation and goes on', async () => {
    const seen = await stream(server(), 'auth 5; done in');
    expect(seen.map(summary).map(([state]) => state)).toEqual([
      TASK_STATE_SUBMITTED,
      TASK_STATE_AUTH_REQUIRED,
      TASK_STATE_COMPLETED,
    ]);
  });

  test('rejects and fails with its text', async () => {
    expect(summary((await stream(server(), 'reject not mine')).at(-1))).toEqual([
      TASK_STATE_REJECTED,
      'not mine',
    ]);
    const failed = summary((await stream(server(), 'fail went wrong')).at(-1));
    expect(failed).toEqual([TASK_STATE_FAILED, 'Agent execution error: went wrong']);
  });

  test('publishes CANCELED itself and stops when it is cancelled', async () => {
    const handler = server();
    const events = handler.sendMessageStream(request('tick 100000 5'), context());
    const first = await events.next();
    const taskId = taskIdOf([first.value as StreamResponse]);
    const canceled = await handler.cancelTask({ id: taskId, tenant: '', metadata: {} }, context());
    expect(canceled.status?.state).toBe(TASK_STATE_CANCELED);
    const rest: StreamResponse[] = [];
    for await (const event of events) rest.push(event);
    expect(summary(rest.at(-1))).toEqual([TASK_STATE_CANCELED, 'Canceled on request.']);
  });

  test('can be cancelled while it waits for input', async () => {
    const handler = server();
    const taskId = taskIdOf(await stream(handler, 'ask which one?'));
    const canceled = await handler.cancelTask({ id: taskId, tenant: '', metadata: {} }, context());
    expect(canceled.status?.state).toBe(TASK_STATE_CANCELED);
  });
});

describe('the demo agent and its signal', () => {
  test('ends a long sleep at once and says nothing more', async () => {
    const run = start('sleep 60000; done late');
    run.abort();
    await run.finished;
    expect(run.events.map((event) => event.kind)).toEqual(['task']);
  });

  test('stays deaf to abort and cancel, and then goes on', async () => {
    const run = start('deaf 40; done anyway');
    run.abort();
    await run.agent.cancelTask(run.taskId, run.bus);
    await run.finished;
    expect(run.events.map(stateOf)).toEqual([TASK_STATE_SUBMITTED, TASK_STATE_COMPLETED]);
  });

  test('lingers after its question until it is told to stop', async () => {
    const run = start('ask well?; linger 60000');
    await run.next('statusUpdate');
    run.abort();
    await run.finished;
    expect(run.events.map(stateOf)).toEqual([TASK_STATE_SUBMITTED, TASK_STATE_INPUT_REQUIRED]);
  });

  test('leaves the later turn of a task alone when a lost one is told to cancel', async () => {
    const lost = start('tick 100000 5');
    const later = start('tick 3 5; done', lost);
    lost.abort();
    await lost.agent.cancelTask(lost.taskId, new DefaultExecutionEventBus());
    await Promise.all([lost.finished, later.finished]);
    expect(later.events.map(stateOf).at(-1)).toBe(TASK_STATE_COMPLETED);
  });

  test('keeps the event loop busy for as long as block says', async () => {
    const run = start('tick 1 0; block 60; done');
    await run.next('statusUpdate');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await run.finished;
    clearInterval(timer);
    expect(turns).toBeLessThan(20);
    expect(run.events.map(stateOf).at(-1)).toBe(TASK_STATE_COMPLETED);
  });
});

function server(): DefaultRequestHandler {
  const card = agentCardFor({ publicUrl: 'http://localhost' });
  return new DefaultRequestHandler(card, new InMemoryTaskStore(), createDemoAgent());
}

function context(): ServerCallContext {
  return new ServerCallContext({ requestedVersion: '1.0' });
}

function message(text: string, taskId = ''): Message {
  ids += 1;
  return {
    messageId: `m${ids}`,
    contextId: '',
    taskId,
    role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function request(text: string, taskId = ''): SendMessageRequest {
  return { tenant: '', message: message(text, taskId), configuration: undefined, metadata: undefined };
}

function listRequest(): Parameters<DefaultRequestHandler['listTasks']>[0] {
  return {
    tenant: '',
    contextId: '',
    status: 0,
    pageToken: '',
    pageSize: undefined,
    historyLength: undefined,
    statusTimestampAfter: undefined,
    includeArtifacts: false,
  };
}

async function stream(handler: DefaultRequestHandler, text: string): Promise<StreamResponse[]> {
  const seen: StreamResponse[] = [];
  for await (const event of handler.sendMessageStream(request(text), context())) seen.push(event);
  return seen;
}

function summary(event: StreamResponse | undefined): [TaskState | undefined, string] {
  const payload = event?.payload;
  if (payload?.$case !== 'task' && payload?.$case !== 'statusUpdate') return [undefined, ''];
  const { status } = payload.value;
  return [status?.state, status?.message?.parts[0]?.content?.value ?? ''];
}

function taskIdOf(events: readonly StreamResponse[]): string {
  const first = events[0]?.payload;
  return first?.$case === 'task' ? first.value.id : '';
}

function stateOf(event: AgentExecutionEvent): TaskState | undefined {
  return event.kind === 'task' || event.kind === 'statusUpdate' ? event.data.status?.state : undefined;
}

/** A turn run by hand, as a server does that gives its agents a signal. */
interface Run {
  readonly agent: ReturnType<typeof createDemoAgent>;
  readonly bus: DefaultExecutionEventBus;
  readonly taskId: string;
  readonly events: AgentExecutionEvent[];
  readonly finished: Promise<void>;
  abort(): void;
  next(kind: AgentExecutionEvent['kind']): Promise<void>;
}

function start(script: string, like?: Run): Run {
  const agent = like?.agent ?? createDemoAgent();
  const bus = new DefaultExecutionEventBus();
  const controller = new AbortController();
  const taskId = like?.taskId ?? 'task-1';
  const requested = new RequestContext(request(script), taskId, 'context-1', context());
  Object.assign(requested, { signal: controller.signal });
  const events: AgentExecutionEvent[] = [];
  bus.on('event', (event) => void events.push(event));
  const next = (kind: AgentExecutionEvent['kind']): Promise<void> =>
    new Promise((resolve) => {
      if (events.some((event) => event.kind === kind)) return resolve();
      bus.on('event', (event) => event.kind === kind && resolve());
    });
  const finished = agent.execute(requested, bus);
  return { agent, bus, taskId, events, finished, next, abort: () => controller.abort() };
}
