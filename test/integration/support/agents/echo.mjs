// The pattern of the SDK's own samples: the first event of every turn is the task, and of a follow-up the old one.
const SUBMITTED = 1;
const WORKING = 2;
const COMPLETED = 3;
const INPUT_REQUIRED = 6;

const status = (context, state) => ({
  kind: 'statusUpdate',
  data: {
    taskId: context.taskId,
    contextId: context.contextId,
    status: { state, message: undefined, timestamp: undefined },
    metadata: undefined,
  },
});

const newTask = (context) => ({
  id: context.taskId,
  contextId: context.contextId,
  status: { state: SUBMITTED, message: undefined, timestamp: undefined },
  artifacts: [],
  history: [],
  metadata: undefined,
});

export default {
  async execute(context, bus) {
    bus.publish({ kind: 'task', data: context.task ?? newTask(context) });
    if (!context.task) return bus.publish(status(context, INPUT_REQUIRED));
    // Long enough for the echo to be stored and seen by itself.
    await new Promise((resolve) => setTimeout(resolve, 200));
    bus.publish(status(context, WORKING));
    bus.publish(status(context, COMPLETED));
  },
  cancelTask: () => Promise.resolve(),
};
