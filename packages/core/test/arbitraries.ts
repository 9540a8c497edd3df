import {
  Role,
  TaskState,
  type Artifact,
  type Message,
  type Part,
  type Task,
  type TaskStatus,
} from '@a2a-js/sdk';
import fc from 'fast-check';
import type { TaskEvent } from '../src/index.js';

/** The task that the events are about; a few are about another. */
export const TASK_ID = 'task-1';

const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('', '\u0000', '"\\', '\u2028', 'ü€😀'));

/** Small JSON objects as metadata; keys collide often, so that merges are seen. */
export const metadata = fc.option(
  fc.dictionary(
    fc.constantFrom('a', 'b', 'a2a-cluster'),
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant({ reason: 'x', deep: [1, { y: 'z' }] })),
    { maxKeys: 3 },
  ),
  { nil: undefined },
);

const content: fc.Arbitrary<Part['content']> = fc.oneof(
  text.map((value) => ({ $case: 'text' as const, value })),
  text.map((value) => ({ $case: 'url' as const, value })),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => ({ $case: 'raw' as const, value: Buffer.from(bytes) })),
  fc
    .oneof(fc.integer(), text, fc.constant({ k: [true, 'v'] }))
    .map((value: unknown) => ({ $case: 'data' as const, value })),
);

/** Any kind of part. */
export const part: fc.Arbitrary<Part> = fc.record({
  content,
  metadata,
  filename: fc.constantFrom('', 'a.txt'),
  mediaType: fc.constantFrom('', 'text/plain'),
});

/** Few ids, so that the same one comes again. */
const messageId = fc.constantFrom('m1', 'm2', 'm3', 'user-1');

/** A message of either role. */
export const message: fc.Arbitrary<Message> = fc.record({
  messageId,
  contextId: fc.constantFrom('', 'context-1'),
  taskId: fc.constantFrom('', TASK_ID),
  role: fc.constantFrom(Role.ROLE_USER, Role.ROLE_AGENT),
  parts: fc.array(part, { maxLength: 2 }),
  metadata,
  extensions: fc.array(fc.constantFrom('urn:x'), { maxLength: 1 }),
  referenceTaskIds: fc.array(fc.constantFrom('task-0'), { maxLength: 1 }),
});

const artifact: fc.Arbitrary<Artifact> = fc.record({
  artifactId: fc.constantFrom('a1', 'a2', 'a3'),
  name: fc.constantFrom('', 'one', 'two'),
  description: fc.constantFrom('', 'about'),
  parts: fc.array(part, { maxLength: 3 }),
  metadata,
  extensions: fc.array(fc.constantFrom('urn:x'), { maxLength: 1 }),
});

const state = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      TaskState.TASK_STATE_COMPLETED,
      TaskState.TASK_STATE_FAILED,
      TaskState.TASK_STATE_CANCELED,
      TaskState.TASK_STATE_REJECTED,
    ),
  },
);

const status: fc.Arbitrary<TaskStatus | undefined> = fc.option(
  fc.record({
    state,
    message: fc.option(message, { nil: undefined }),
    timestamp: fc.constantFrom(undefined, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.123456Z'),
  }),
  { nil: undefined, freq: 12 },
);

const taskId = fc.oneof(
  { weight: 12, arbitrary: fc.constant(TASK_ID) },
  { weight: 1, arbitrary: fc.constant('task-2') },
);

/** A task, mostly of {@link TASK_ID}. */
export const task: fc.Arbitrary<Task> = fc.record({
  id: taskId,
  contextId: fc.constant('context-1'),
  status,
  artifacts: fc.array(artifact, { maxLength: 3 }),
  history: fc.array(message, { maxLength: 3 }),
  metadata,
});

/** A `task` event. */
export const taskEvent: fc.Arbitrary<Extract<TaskEvent, { kind: 'task' }>> = fc.record({
  kind: fc.constant('task' as const),
  data: task,
});

/** Any event of a log. */
export const event: fc.Arbitrary<TaskEvent> = fc.oneof(
  { weight: 2, arbitrary: taskEvent },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('statusUpdate' as const),
      data: fc.record({ taskId, contextId: fc.constant('context-1'), status, metadata }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('artifactUpdate' as const),
      data: fc.record({
        taskId,
        contextId: fc.constant('context-1'),
        artifact: fc.option(artifact, { nil: undefined, freq: 12 }),
        append: fc.boolean(),
        lastChunk: fc.boolean(),
        metadata,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('message' as const), data: message }) },
);

/** A piece of a log: often beginning with the task, sometimes not. */
export const events: fc.Arbitrary<TaskEvent[]> = fc
  .tuple(fc.option(taskEvent, { nil: undefined, freq: 6 }), fc.array(event, { maxLength: 14 }))
  .map(([first, rest]) => (first ? [first, ...rest] : rest));
