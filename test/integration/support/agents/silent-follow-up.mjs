// An agent that asks, and never says a word to the answer: a follow-up it has accepted is a turn nobody heard of.
const event = (context, state) => ({
  kind: 'statusUpdate',
  data: {
    taskId: context.taskId,
    contextId: context.contextId,
    status: { state, message: undefined, timestamp: undefined },
    metadata: undefined,
  },
});

const INPUT_REQUIRED = 6;
const SUBMITTED = 1;

export default {
  async execute(context, bus) {
    if (context.task) {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
      return;
    }
    bus.publish({
      kind: 'task',
      data: {
        id: context.taskId,
        contextId: context.contextId,
        status: { state: SUBMITTED, message: undefined, timestamp: undefined },
        artifacts: [],
        history: [],
        metadata: undefined,
      },
    });
    bus.publish(event(context, INPUT_REQUIRED));
  },
  cancelTask: () => Promise.resolve(),
};
