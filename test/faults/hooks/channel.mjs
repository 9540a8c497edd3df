/** The IPC channel to the parent, where there is one: `spawn` with `stdio: [.., 'ipc']`. */
export function createChannel({ setPlan, report }) {
  const send = (message) =>
    new Promise((resolve) => {
      if (!process.connected) return resolve();
      process.send(message, () => resolve());
    });
  // Said before the listener is added, or the channel would keep the process alive.
  process.channel?.unref();
  process.on('message', (message) => {
    if (typeof message?.failpoints === 'string') void send(answerTo(message.failpoints, setPlan));
  });
  return {
    /** Resolves when the parent's end of the pipe has it: the process may be killed then. */
    triggered: (trigger) => send({ ...trigger, atMs: Date.now() }),
    /** Everything is loaded by the time the database is open. */
    started: () => void send({ testBuild: report() }),
  };
}

function answerTo(plan, setPlan) {
  try {
    setPlan(plan);
    return { failpointsSet: true };
  } catch (error) {
    return { failpointsSet: false, error: error.message };
  }
}
