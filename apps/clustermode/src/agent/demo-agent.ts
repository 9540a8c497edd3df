import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { createSystemClock, type Clock } from '@a2a-cluster/core';
import { answer, status, submitted, textOf } from './events.js';
import { parseScript } from './script.js';
import { runStep } from './steps.js';
import { beginTurn, createAgentTurns } from './turns.js';

/** Options of {@link createDemoAgent}. */
export interface DemoAgentOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

/**
 * An agent that obeys its message text (see {@link parseScript}), so that a person or a test can make any turn.
 *
 * It knows nothing of the cluster and runs in any server of the SDK. Its first event is the Task in SUBMITTED, but
 * for `say`. It stops at the signal of the request context, where the server gives one, and at `cancelTask`, which
 * publishes CANCELED itself; while a `deaf` step runs it ignores both for good.
 */
export function createDemoAgent(options: DemoAgentOptions = {}): AgentExecutor {
  const clock = options.clock ?? createSystemClock();
  const turns = createAgentTurns();

  async function execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const turn = beginTurn(context, bus);
    turns.add(turn);
    try {
      const steps = parseScript(textOf(context.userMessage));
      if (steps[0]?.kind === 'say') return bus.publish(answer(context.contextId, steps[0].text));
      bus.publish(submitted(context, clock.wallIso()));
      for (const step of steps) {
        if (turn.signal.aborted) return;
        if (step.kind !== 'say') await runStep(step, { turn, clock });
      }
    } finally {
      turn.end();
      turns.remove(turn);
    }
  }

  async function cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    const turn = turns.find(taskId, bus);
    if (turn?.deaf) return;
    const contextId = turn?.contextId ?? turns.contextOf(taskId);
    const state = TaskState.TASK_STATE_CANCELED;
    bus.publish(
      status({ taskId, contextId, state, timestamp: clock.wallIso(), text: 'Canceled on request.' }),
    );
    if (turn?.bus === bus) turn.stop();
  }

  return { execute, cancelTask };
}
