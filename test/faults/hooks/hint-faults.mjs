/** Longest wait of a hint that is moved behind others. */
const SHUFFLE_MS = 300;

/** PostgreSQL takes payloads below 8 000 bytes. */
const LONGEST_PAYLOAD = 7_999;

const GARBAGE = ['', 'not json', '{"selfTest":5}', '[1,null,{"taskId":"x"}]', '["', '{}', '[[]]'];

/** How the payloads of the `notify` being called are replaced; set for the length of one synchronous call. */
let spoil = null;

/** The payloads as they are to be sent. */
export function payloadsOf(payloads) {
  if (spoil === 'garbage') return GARBAGE;
  if (spoil !== 'long') return payloads;
  return payloads.map((payload) => {
    const room = LONGEST_PAYLOAD - Buffer.byteLength(payload) - ',""'.length;
    return room > 0 ? `${payload.slice(0, -1)},"${'x'.repeat(room)}"]` : payload;
  });
}

/** Hints that get lost, come twice, late or in another order. */
export function wrapHints(hints, { pass, take, channel }) {
  if (hints.kind === 'counter') return wrapCounter(hints, { take, channel });
  if (hints.kind !== 'listen') return hints;
  return {
    kind: 'listen',
    async notify(taskIds) {
      const action = await pass('hints.notify', taskIds);
      if (action === 'error') throw new Error('hints.notify: an error was asked for');
      if (action === 'drop') return;
      if (action === 'shuffle') return void later(() => hints.notify(taskIds).catch(() => {}));
      spoil = action;
      const sent = hints.notify(taskIds);
      spoil = null;
      await sent;
      if (action === 'twice') await hints.notify(taskIds);
    },
    listen: (handlers) =>
      hints.listen({
        onHint: (taskIds) => void hear(taskIds, { handlers, pass }),
        onLost: (cause) => handlers.onLost(cause),
      }),
  };
}

async function hear(taskIds, { handlers, pass }) {
  const action = await pass('hints.onHint', taskIds);
  if (action === 'drop') return;
  if (action === 'shuffle') return later(() => handlers.onHint(taskIds));
  handlers.onHint(taskIds);
  if (action === 'twice') handlers.onHint(taskIds);
}

/** SQLite: a dropped hint is a counter that seems not to have moved. */
function wrapCounter(hints, { take, channel }) {
  let last;
  return {
    kind: 'counter',
    read() {
      const rule = last === undefined ? null : take('hints.onHint', []);
      if (rule?.action !== 'drop') return (last = hints.read());
      void channel.triggered({ failpoint: 'hints.onHint', action: 'drop' });
      return last;
    },
  };
}

function later(action) {
  setTimeout(action, Math.random() * SHUFFLE_MS).unref();
}
