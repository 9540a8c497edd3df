import { setTimeout as sleep } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import { createDemoAgent } from '../../../apps/clustermode/dist/agent/demo-agent.js';
import { output, status, submitted, textOf } from '../../../apps/clustermode/dist/agent/events.js';
import { turnOf } from '../../../packages/request-handler/dist/index.js';

/**
 * The demo agent, with a line in the log when a turn begins, when its signal fires and when it returns. More kinds of
 * message, two as badly behaved as agents are, one that says a lot and leaves little:
 *
 *     zombie N MS; <script>   once its signal fires it says N more things, one every MS; its cancelTask publishes
 *                             CANCELED and one thing more
 *     replace N BYTES MS      its artifact, N times anew with so many bytes, one every MS; COMPLETED unless aborted
 *     relapse MS              asks its client (INPUT_REQUIRED), keeps running, and after MS goes on: WORKING, COMPLETED
 */
const demo = createDemoAgent();
const zombies = new Set();

const ZOMBIE = /^zombie (\d+) (\d+);\s*([^]*)$/;
const RELAPSE = /^relapse (\d+)$/;
const REPLACE = /^replace (\d+) (\d+) (\d+)$/;

/** In the form of the replica's own lines: its console keeps no fields. */
function log(context, msg) {
  const { taskId } = context;
  const facts = { taskId, epoch: turnOf(context).epoch, replica: process.env['REPLICA_ID'] };
  const line = { level: 'info', time: new Date().toISOString(), pid: process.pid, ...facts, msg };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function say(task, bus, [name, text]) {
  const { taskId, contextId } = task;
  const timestamp = new Date().toISOString();
  bus.publish(status({ taskId, contextId, state: TaskState[`TASK_STATE_${name}`], text, timestamp }));
}

async function execute(context, bus) {
  const { signal } = turnOf(context);
  log(context, 'agent turn began');
  const fired = () => log(context, 'agent signal fired');
  signal.addEventListener('abort', fired, { once: true });
  try {
    const text = textOf(context.userMessage);
    const [, count, paceMs, script] = ZOMBIE.exec(text) ?? [];
    const [, pauseMs] = RELAPSE.exec(text) ?? [];
    const [, times, bytes, everyMs] = REPLACE.exec(text) ?? [];
    if (times !== undefined) await replace(context, bus, { times, bytes, everyMs });
    else if (pauseMs !== undefined) await relapse(context, bus, Number(pauseMs));
    else if (script === undefined) await demo.execute(context, bus);
    else await haunt(withText(context, script), bus, { count: Number(count), paceMs: Number(paceMs) });
  } finally {
    signal.removeEventListener('abort', fired);
    log(context, 'agent turn returned');
  }
}

async function haunt(context, bus, { count, paceMs }) {
  zombies.add(context.taskId);
  try {
    await demo.execute(context, bus);
    for (let i = 1; context.signal.aborted && i <= count; i += 1) {
      say(context, bus, ['WORKING', `zombie ${i}/${count}`]);
      await sleep(paceMs);
    }
  } finally {
    zombies.delete(context.taskId);
  }
}

async function replace(context, bus, { times, bytes, everyMs }) {
  const { taskId, contextId } = context;
  bus.publish(submitted(context, new Date().toISOString()));
  for (let i = 1; i <= Number(times) && !context.signal.aborted; i += 1) {
    const text = `${i} `.padEnd(Number(bytes), '.');
    bus.publish(output({ taskId, contextId, text, append: false, lastChunk: i === Number(times) }));
    await sleep(Number(everyMs));
  }
  if (!context.signal.aborted) say(context, bus, ['COMPLETED', 'done']);
}

async function relapse(context, bus, pauseMs) {
  bus.publish(submitted(context, new Date().toISOString()));
  say(context, bus, ['WORKING', 'thinking']);
  say(context, bus, ['INPUT_REQUIRED', 'Which one?']);
  await sleep(pauseMs);
  say(context, bus, ['WORKING', 'never mind']);
  await sleep(0);
  say(context, bus, ['COMPLETED', 'done after all']);
}

/** The same request with another text: the demo agent obeys the text of the message. */
function withText(context, text) {
  const part = { ...context.userMessage.parts[0], content: { $case: 'text', value: text } };
  return Object.create(context, { userMessage: { value: { ...context.userMessage, parts: [part] } } });
}

async function cancelTask(taskId, bus) {
  if (!zombies.has(taskId)) return demo.cancelTask(taskId, bus);
  const task = { taskId, contextId: '' };
  say(task, bus, ['CANCELED', 'Canceled, says a zombie.']);
  say(task, bus, ['WORKING', 'and not even dead']);
}

export default { execute, cancelTask };
