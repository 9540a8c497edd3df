import { TaskState } from '@a2a-js/sdk';
import { artifactEvent, statusEvent, taskEvent } from '../../../test/integration/support/events.js';
import { executor, gate } from './support.js';

/** Says it works, then nothing, whatever is asked of it. */
export function deaf(more: (late: Promise<void>) => Promise<void> = () => Promise.resolve()) {
  const started = gate();
  const late = gate();
  return {
    started: started.passed,
    late,
    ...executor(async (context, bus) => {
      bus.publish(taskEvent(context));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_WORKING));
      started.open();
      await late.passed;
      bus.publish(artifactEvent(context, 'late', false));
      bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
      await more(late.passed);
    }),
  };
}
