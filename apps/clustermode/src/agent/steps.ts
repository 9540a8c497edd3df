import { setImmediate as nextPhase } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import { sleep, type Clock } from '@a2a-cluster/core';
import { output, status } from './events.js';
import type { ChunkStep, Step, TickStep } from './script.js';
import type { AgentTurn } from './turns.js';

/** What a step acts with. */
export interface StepContext {
  readonly turn: AgentTurn;
  readonly clock: Clock;
}

/**
 * Does one step of a turn that has published its task. Returns early when the turn is stopped.
 * @throws Error with the step's text for `fail`.
 */
export async function runStep(step: Exclude<Step, { kind: 'say' }>, context: StepContext): Promise<void> {
  switch (step.kind) {
    case 'tick':
      return tick(step, context);
    case 'chunk':
      return chunk(step, context);
    case 'sleep':
    case 'linger':
      return pause(step.ms, context);
    case 'deaf':
      return deaf(step.ms, context);
    case 'block':
      return block(step.ms, context);
    case 'auth':
      say(context, TaskState.TASK_STATE_AUTH_REQUIRED, '');
      return pause(step.ms, context);
    case 'ask':
      return say(context, TaskState.TASK_STATE_INPUT_REQUIRED, step.text);
    case 'reject':
      return say(context, TaskState.TASK_STATE_REJECTED, step.text);
    case 'done':
      return say(context, TaskState.TASK_STATE_COMPLETED, step.text);
    case 'fail':
      throw new Error(step.text);
  }
}

async function tick(step: TickStep, context: StepContext): Promise<void> {
  for (let i = 1; i <= step.count && !context.turn.signal.aborted; i += 1) {
    say(context, TaskState.TASK_STATE_WORKING, `tick ${i}/${step.count}`);
    await pause(step.paceMs, context);
  }
}

async function chunk(step: ChunkStep, context: StepContext): Promise<void> {
  const { turn } = context;
  for (let i = 1; i <= step.count && !turn.signal.aborted; i += 1) {
    const text = filler(i, step.bytes);
    turn.bus.publish(output({ ...taskOf(turn), text, append: i > 1, lastChunk: i === step.count }));
    await pause(step.paceMs, context);
  }
}

/** Exactly `bytes` bytes of ASCII that tell one part from the next. */
function filler(part: number, bytes: number): string {
  return `[${part}]`.padEnd(bytes, '.').slice(0, bytes);
}

async function deaf(ms: number, context: StepContext): Promise<void> {
  context.turn.deaf = true;
  try {
    await sleep({ clock: context.clock, delayMs: ms });
  } finally {
    context.turn.deaf = false;
  }
}

function block(ms: number, { clock }: StepContext): void {
  const until = clock.monotonicMs() + ms;
  while (clock.monotonicMs() < until);
}

/** Waits, or at a pace of 0 just lets the event loop go round. */
async function pause(ms: number, { turn, clock }: StepContext): Promise<void> {
  if (ms === 0) await nextPhase();
  else await sleep({ clock, delayMs: ms, signal: turn.signal });
}

function say({ turn, clock }: StepContext, state: TaskState, text: string): void {
  turn.bus.publish(status({ ...taskOf(turn), state, text, timestamp: clock.wallIso() }));
}

function taskOf(turn: AgentTurn): { taskId: string; contextId: string } {
  return { taskId: turn.taskId, contextId: turn.contextId };
}
