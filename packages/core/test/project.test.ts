import { TaskState, type Message, type Task } from '@a2a-js/sdk';
import { ResultManager, ServerCallContext, type TaskStore } from '@a2a-js/sdk/server';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { isTerminal, project, projectAll, type TaskEvent } from '../src/index.js';
import { events, message, TASK_ID, taskEvent } from './arbitraries.js';

const context = new ServerCallContext();

/** What the SDK makes of one event, and nothing when it saves nothing. */
async function byResultManager(
  stored: Task | undefined,
  next: Exclude<TaskEvent, { kind: 'message' }>,
  userMessage: Message | undefined,
): Promise<Task | undefined> {
  let out = stored;
  const store: TaskStore = {
    load: async () => structuredClone(stored),
    save: async (saved) => {
      out = saved;
    },
    list: () => Promise.reject(new Error('not asked for')),
  };
  const manager = new ResultManager(store, context);
  if (userMessage) manager.setContext(userMessage);
  await manager.processEvent(next);
  return out;
}

/** The SDK plus the guards that {@link project} documents. */
async function model(
  stored: Task | undefined,
  next: TaskEvent,
  userMessage: Message | undefined,
): Promise<Task | undefined> {
  if (stored && isTerminal(stored.status?.state)) return stored;
  if (next.kind === 'task' && stored && stored.id !== next.data.id) return stored;
  if (next.kind !== 'message') return byResultManager(stored, next, userMessage);
  return stored && { ...stored, history: [...stored.history, next.data] };
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value))
    return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

/** The same for what was cloned and what was not: a clone's bytes are no Buffer. */
const plain = (task: Task | undefined): unknown => structuredClone(task);

const idsAreUnique = (task: Task | undefined): boolean =>
  new Set(task?.artifacts.map((artifact) => artifact.artifactId)).size === (task?.artifacts.length ?? 0);

const userMessage = fc.option(message, { nil: undefined });

beforeAll(() => {
  // The SDK warns of events for unknown tasks, which this test sends on purpose.
  jest.spyOn(console, 'warn').mockImplementation(() => {});
});

afterAll(() => {
  jest.restoreAllMocks();
});

describe('the projection', () => {
  test("gives after every event what the SDK's ResultManager gives, but for its documented guards", async () => {
    await fc.assert(
      fc.asyncProperty(events, userMessage, async (log, opener) => {
        let ours: Task | undefined;
        let theirs: Task | undefined;
        for (const next of log) {
          theirs = await model(theirs, next, opener);
          ours = project(ours, next, opener);
          expect(plain(ours)).toEqual(plain(theirs));
        }
      }),
      { numRuns: 400 },
    );
  });

  test('never changes the task, the event or the user message it is given', () => {
    fc.assert(
      fc.property(events, userMessage, (log, opener) => {
        deepFreeze([log, opener]);
        let task: Task | undefined;
        for (const next of log) task = deepFreeze(project(task, next, opener));
      }),
      { numRuns: 300 },
    );
  });

  test('of a whole log is the projection event by event, and changes none of its arguments', () => {
    fc.assert(
      fc.property(events, events, userMessage, (before, log, opener) => {
        deepFreeze([before, log, opener]);
        const start = deepFreeze(projectAll({ task: undefined, events: before, userMessage: opener }));
        const single = log.reduce<Task | undefined>((task, next) => project(task, next, opener), start);
        expect(projectAll({ task: start, events: log, userMessage: opener })).toEqual(single);
      }),
      { numRuns: 300 },
    );
  });

  test('leaves a merged task alone when the log folds it again, if artifact ids are unique in a task as A2A demands', () => {
    fc.assert(
      fc.property(events, taskEvent, userMessage, (before, next, opener) => {
        const stored = projectAll({ task: undefined, events: before, userMessage: opener });
        const merged = project(stored, next, opener);
        fc.pre(merged !== stored && idsAreUnique(stored) && idsAreUnique(next.data));
        if (merged) expect(project(stored, { kind: 'task', data: merged })).toEqual(merged);
      }),
      { numRuns: 400 },
    );
  });

  test('ends with the first terminal state', () => {
    const update = (state: TaskState): TaskEvent => ({
      kind: 'statusUpdate',
      data: {
        taskId: TASK_ID,
        contextId: '',
        status: { state, message: undefined, timestamp: undefined },
        metadata: { state },
      },
    });
    const first: TaskEvent = {
      kind: 'task',
      data: {
        id: TASK_ID,
        contextId: '',
        status: undefined,
        artifacts: [],
        history: [],
        metadata: undefined,
      },
    };
    const ended = projectAll({
      task: undefined,
      events: [first, update(TaskState.TASK_STATE_CANCELED), update(TaskState.TASK_STATE_CANCELED), first],
    });
    expect(ended?.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(project(ended, update(TaskState.TASK_STATE_COMPLETED))).toBe(ended);
  });

  test('of a long artifact takes time that grows with its parts, not with their square', () => {
    const chunk = (): TaskEvent => ({
      kind: 'artifactUpdate',
      data: {
        taskId: TASK_ID,
        contextId: '',
        artifact: {
          artifactId: 'a',
          name: '',
          description: '',
          parts: [
            { content: { $case: 'text', value: 'x' }, metadata: undefined, filename: '', mediaType: '' },
          ],
          metadata: undefined,
          extensions: [],
        },
        append: true,
        lastChunk: false,
        metadata: undefined,
      },
    });
    const start: Task = {
      id: TASK_ID,
      contextId: '',
      status: undefined,
      artifacts: [],
      history: [],
      metadata: undefined,
    };
    // Copying at each step would move 2 * 10^10 references here.
    const folded = projectAll({ task: start, events: Array.from({ length: 200_000 }, chunk) });
    expect(folded?.artifacts[0]?.parts).toHaveLength(200_000);
    expect(start.artifacts).toEqual([]);
  });
});
