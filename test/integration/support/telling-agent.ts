import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { createDemoAgent } from '../../../apps/clustermode/src/agent/demo-agent.js';
import { textOf } from '../../../apps/clustermode/src/agent/events.js';
import { statusEvent, taskEvent } from './events.js';

/**
 * The demo agent, which at the word `tell` says what it was given besides the message: the ids of the tasks it may
 * read.
 */
export function createTellingAgent(): AgentExecutor {
  const demo = createDemoAgent();
  return {
    execute: (context, bus) => {
      if (textOf(context.userMessage) !== 'tell') return demo.execute(context, bus);
      const given = [context.task, ...(context.referenceTasks ?? [])].flatMap((task) => task?.id ?? []);
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED, `given: ${given.join(' ')}`));
      return Promise.resolve();
    },
    cancelTask: (taskId, bus) => demo.cancelTask(taskId, bus),
  };
}
