import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import { sleep } from '@a2a-cluster/core';
import { turnOf, type TurnHandle } from '@a2a-cluster/cluster';
import { agentMessage, artifactEvent, statusEvent, taskEvent } from '../../integration/support/events.js';
import type { SimReplica } from './sim-replica.js';
import type { World } from './world.js';

/** One `execute()` call. */
export interface TurnRecord {
  readonly replica: SimReplica;
  readonly taskId: string;
  readonly messageId: string;
  readonly handle: TurnHandle;
  /** The executor has returned. */
  returned: boolean;
  /** It answered with a message, of which the log has nothing. */
  saidMessage: boolean;
}

const ENDINGS = [
  ...(['completed', 'completed', 'completed', 'input', 'input', 'linger', 'auth', 'auth_goes_on'] as const),
  ...(['throws', 'stops_short', 'rejected', 'talks_on'] as const),
];

/** An agent whose every turn is another one: its steps, its pauses and whether it obeys follow from the seed. */
export function createAgent(world: World, replica: SimReplica): AgentExecutor {
  const obedient = new Set<string>();
  return {
    async execute(context, bus) {
      const { taskId, userMessage } = context;
      const handle = turnOf(context);
      const { messageId } = userMessage;
      const record: TurnRecord = { replica, taskId, messageId, handle, returned: false, saidMessage: false };
      world.turns.push(record);
      if (world.random.chance(0.6)) obedient.add(taskId);
      else obedient.delete(taskId);
      try {
        await new Turn({ world, replica, context, bus, record, obeys: obedient.has(taskId) }).play();
      } finally {
        record.returned = true;
      }
    },
    async cancelTask(taskId, bus) {
      if (!obedient.has(taskId) || world.random.chance(0.3)) return;
      const context = { taskId, contextId: contextOf(world, taskId) } as RequestContext;
      bus.publish(statusEvent(context, TaskState.TASK_STATE_CANCELED, `canceled ${world.serial()}`));
    },
  };
}

function contextOf(world: World, taskId: string): string {
  return world.watch.tasks.get(taskId)?.contextId ?? 'unknown';
}

interface TurnParts {
  readonly world: World;
  readonly replica: SimReplica;
  readonly context: RequestContext;
  readonly bus: ExecutionEventBus;
  readonly record: TurnRecord;
  readonly obeys: boolean;
}

class Turn {
  constructor(private readonly parts: TurnParts) {}

  async play(): Promise<void> {
    const { context, bus, world, record } = this.parts;
    if (world.random.chance(0.05)) {
      record.saidMessage = true;
      return void bus.publish({ kind: 'message', data: agentMessage(context, `m${world.serial()}`) });
    }
    bus.publish(taskEvent(context));
    if (world.random.chance(0.3)) await this.pause();
    this.status(TaskState.TASK_STATE_WORKING);
    for (let left = world.random.int(0, 6); left > 0 && !this.stopped; left -= 1) {
      bus.publish(artifactEvent(context, `e${world.serial()}`, true));
      await this.pause();
    }
    if (!this.stopped) await this.end();
  }

  private get stopped(): boolean {
    return this.parts.obeys && this.parts.record.handle.signal.aborted;
  }

  private status(state: TaskState): void {
    const { bus, context, world } = this.parts;
    bus.publish(statusEvent(context, state, `s${world.serial()}`));
  }

  private async pause(): Promise<void> {
    const { world, record, obeys, replica } = this.parts;
    const { random } = world;
    const { handle } = record;
    const kind = random.int(0, 9);
    if (kind === 0) return;
    if (kind === 1) return handle.drained();
    const delayMs = kind === 2 ? random.int(2_000, 25_000) : random.int(1, 600);
    await sleep({ clock: replica.clock, delayMs, ...(obeys && { signal: handle.signal }) });
  }

  private async end(): Promise<void> {
    const { world } = this.parts;
    switch (world.random.pick(ENDINGS)) {
      case 'completed':
        return this.status(TaskState.TASK_STATE_COMPLETED);
      case 'rejected':
        return this.status(TaskState.TASK_STATE_REJECTED);
      case 'input':
        return this.status(TaskState.TASK_STATE_INPUT_REQUIRED);
      case 'linger':
        this.status(TaskState.TASK_STATE_INPUT_REQUIRED);
        return this.pause();
      case 'auth':
        return this.status(TaskState.TASK_STATE_AUTH_REQUIRED);
      case 'auth_goes_on':
        this.status(TaskState.TASK_STATE_AUTH_REQUIRED);
        await this.pause();
        return this.status(TaskState.TASK_STATE_COMPLETED);
      case 'throws':
        throw new Error('by the script');
      case 'stops_short':
        return;
      case 'talks_on':
        this.status(TaskState.TASK_STATE_COMPLETED);
        await this.pause();
        return this.status(TaskState.TASK_STATE_WORKING);
    }
  }
}
