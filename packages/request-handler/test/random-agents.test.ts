import { expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { decodeEvent, isInterruptedName, isTerminal, isTerminalName, stateName } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database } from '@a2a-cluster/db';
import { createTaskReader } from '@a2a-cluster/task-store';
import fc from 'fast-check';
import {
  agentMessage,
  artifactEvent,
  newTask,
  statusEvent,
  taskEvent,
} from '../../../test/integration/support/events.js';
import { createFaultyDatabase, type Fault } from '../../task-store/test/faulty-database.js';
import { turnOf } from '../src/index.js';
import { cancel, executor, request, send, startReplica, stream, subscribe, until } from './support.js';

/** What a random agent does next. */
type Step =
  | 'task'
  | 'echo'
  | 'WORKING'
  | 'COMPLETED'
  | 'REJECTED'
  | 'INPUT_REQUIRED'
  | 'AUTH_REQUIRED'
  | 'artifact'
  | 'message'
  | 'foreign'
  | 'nonsense'
  | 'pause'
  | 'drain'
  | 'wait'
  | 'throw'
  | 'finish';

const steps: readonly Step[] = [
  ...(['task', 'echo', 'WORKING', 'COMPLETED', 'REJECTED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'] as const),
  ...(['artifact', 'artifact', 'message', 'foreign', 'nonsense', 'pause', 'pause', 'drain', 'wait'] as const),
  ...(['throw', 'finish'] as const),
];

const script = fc.array(fc.constantFrom(...steps), { maxLength: 8 });
/** Mostly sensible beginnings: else nearly every turn would end at its first event. */
const turn = fc.oneof(
  { weight: 4, arbitrary: script.map((rest): Step[] => ['task', 'WORKING', ...rest]) },
  { weight: 1, arbitrary: script },
);
const faults = fc.record({
  statement: fc.constantFrom(
    'createTask',
    'commit',
    'openTurn',
    'cancel',
    'findOwnWrite',
    'look',
    'readTask',
  ),
  fault: fc.constantFrom<Fault>('refused', 'answer_lost', 'request_lost', 'overtaken'),
});
const scenario = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
  faults: fc.array(faults, { maxLength: 6 }),
  cancelAfterMs: fc.option(fc.integer({ min: 0, max: 40 })),
  closeAfterMs: fc.option(fc.integer({ min: 0, max: 60 }), { freq: 4 }),
  keep: fc.boolean(),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

function randomAgent(turns: readonly (readonly Step[])[]): AgentExecutor {
  let next = 0;
  return executor(async (context, bus) => {
    for (const step of turns[next++ % turns.length] ?? []) await play(step, context, bus);
  });
}

async function play(step: Step, context: RequestContext, bus: ExecutionEventBus): Promise<void> {
  const { taskId, contextId } = context;
  const submitted = TaskState.TASK_STATE_SUBMITTED;
  switch (step) {
    case 'task':
      return bus.publish(taskEvent(context));
    case 'echo':
      return bus.publish({ kind: 'task', data: newTask(taskId, contextId, submitted) });
    case 'artifact':
      return bus.publish(artifactEvent(context, 'x', true));
    case 'message':
      return bus.publish({ kind: 'message', data: agentMessage(context, 'hello') });
    case 'foreign':
      return bus.publish(statusEvent({ ...context, taskId: 'other' } as RequestContext, submitted));
    case 'nonsense':
      return bus.publish({ kind: 'task' } as never);
    case 'pause':
      return new Promise((resolve) => setTimeout(resolve, 3));
    case 'drain':
      return turnOf(context).drained();
    case 'wait':
      return waitForAbort(turnOf(context).signal);
    case 'throw':
      throw new Error('by the script');
    case 'finish':
      return bus.finished();
    default:
      return bus.publish(statusEvent(context, TaskState[`TASK_STATE_${step}`]));
  }
}

/** An agent that only ends when it is told to; or after a while, for a scenario without a cancel. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    setTimeout(resolve, 60);
  });
}

async function violations(database: Database, keep: boolean): Promise<string[]> {
  const found: string[] = [];
  const { rows } = await database.tasks.list({ scope: null, limit: 100 });
  const leases = new Set((await database.leases.listLeases(100)).map((lease) => lease.taskId));
  for (const task of rows) {
    const { taskId, state } = task;
    const log = await database.log.readEvents({ taskId, after: 0, limit: 10_000 });
    const report = (what: string): void =>
      void found.push(`${what}: ${log.map((row) => row.payload).join('\n')}`);
    if (log.some((row, index) => row.seq !== index + 1)) report('I2 a gap');
    if (log.some((row, index) => row.epoch < (log[index - 1]?.epoch ?? 0))) report('I3 an old epoch');
    const ends = log.filter((row) => {
      const event = decodeEvent(row.kind, row.payload);
      return (event.kind === 'task' || event.kind === 'statusUpdate') && isTerminal(event.data.status?.state);
    });
    if (ends.length > 1) report('I1 two terminal events');
    if (ends[0] && ends[0].seq !== log.length) report('I1 an event after the end');
    const read = await createTaskReader({ database }).read({ taskId });
    if (read?.version !== log.length || stateName(read.task.status?.state) !== state)
      report('I1 the row is not the log');
    if (isTerminalName(state) && leases.has(taskId)) report('I10 a lease on an ended task');
    if (!isTerminalName(state) && !leases.has(taskId) && !isInterruptedName(state) && !keep)
      report('I10 nobody works on it');
  }
  return found;
}

async function run(chosen: Scenario): Promise<string[]> {
  const inner = createMemoryDatabase();
  const faulty = createFaultyDatabase(inner);
  const lease = { ttlMs: 2_000, heartbeatMs: 40, cancelGraceMs: 80 };
  const handler = { incompleteTurn: chosen.keep ? ('keep' as const) : ('fail' as const) };
  const common = { executor: randomAgent(chosen.turns), lease, handler };
  const a = await startReplica({ ...common, database: faulty.database });
  const b = await startReplica({ ...common, database: inner });
  for (const { statement, fault } of chosen.faults) faulty.next(statement, fault);

  const answered: Promise<unknown>[] = [];
  const subscriptions: Promise<unknown>[] = [];
  // A refusal is an answer as well.
  const ask = (...calls: Promise<unknown>[]): void =>
    void answered.push(...calls.map((call) => call.catch(() => null)));
  ask(stream(a, request('go')));
  const first = await send(a, request('go')).catch(() => null);
  for (const taskId of first && 'status' in first ? [first.id] : []) {
    subscriptions.push(subscribe(b, taskId).catch(() => null));
    ask(send(b, request('more', { taskId })), stream(a, request('more', { taskId })));
    if (chosen.cancelAfterMs !== null) {
      await new Promise((resolve) => setTimeout(resolve, chosen.cancelAfterMs ?? 0));
      ask(cancel(a, taskId), cancel(b, taskId));
    }
  }
  if (chosen.closeAfterMs !== null) {
    await new Promise((resolve) => setTimeout(resolve, chosen.closeAfterMs ?? 0));
    await a.handler.closeTurns({ drainTimeoutMs: 10, fail: true, writeTimeoutMs: 500 });
  }
  await until(() => a.handler.runningTurns + b.handler.runningTurns === 0);
  await endAbandoned(inner);
  await Promise.all(answered);
  // A subscription of a task that stays parked ends with its replica.
  await Promise.all([a.close(), b.close()]);
  await Promise.all(subscriptions);
  const left = a.stream.status().tails + b.stream.status().tails;
  return [...(await violations(inner, chosen.keep)), ...(left > 0 ? [`${left} tails left`] : [])];
}

/** What a lost turn left is for a sweeper, and there is none here. */
async function endAbandoned(database: Database): Promise<void> {
  for (const { taskId } of await database.leases.listLeases(100)) {
    await database.leases.expireNow(taskId);
    await database.journal.sweep({ limit: 1, sweeper: 's', statusTimestamp: '', text: 'lost', taskId });
  }
}

test('whatever agents, clients and the store do, the log stays sound and every caller is answered', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  try {
    await fc.assert(
      fc.asyncProperty(scenario, async (chosen) => expect(await run(chosen)).toEqual([])),
      { numRuns: 60, timeout: 15_000, endOnFailure: true },
    );
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
  expect(unhandled).toEqual([]);
}, 120_000);
