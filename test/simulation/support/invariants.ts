import { isInterruptedName, isTerminalName } from '@a2a-cluster/core';
import { stateOf, type WatchedTask } from './watch.js';
import type { World } from './world.js';

const LIMIT = 10_000;

/** What must hold of the rows when nothing runs any more (protocol 12: I1, I2, I4, I10). */
export async function checkRows(world: World): Promise<void> {
  const { base, watch } = world;
  const { rows } = await base.tasks.list({ scope: null, limit: LIMIT });
  const leases = new Set((await base.leases.listLeases(LIMIT)).map(({ taskId }) => taskId));
  for (const { taskId, state, version } of rows) {
    const task = watch.tasks.get(taskId);
    if (task === undefined) {
      world.violated(`I4 a task that nobody was told is stored (task ${taskId})`);
      continue;
    }
    const log = await base.log.readEvents({ taskId, after: 0, limit: LIMIT });
    const found = (what: string): void => world.violated(`${what} (task ${taskId})`);
    if (log.some((row, index) => row.seq !== index + 1)) found('I2 the log has a gap');
    if (log.length !== task.rows.length) found('I4 the log has more than was acknowledged');
    if (version !== log.length || state !== task.state) found(`I1 the row says ${state} at ${version}`);
    const ends = log.filter((row) => isTerminalName(stateOf(row) ?? ''));
    if (ends.length > 1 || (ends[0] && ends[0].seq !== version))
      found('I1 the task has ended more than once');
    if (isTerminalName(state) && leases.has(taskId)) found('I10 a lease on an ended task');
    if (!isTerminalName(state) && leases.has(taskId)) found('I6 a dead lease was left');
    if (!isTerminalName(state) && !leases.has(taskId) && !isInterruptedName(state))
      found(`I10 the task is ${state} and nobody works on it`);
    checkAnswered(world, task);
  }
  for (const stored of watch.stored)
    if (!(await base.journal.findOwnWrite(stored)))
      world.violated(`I4 an acknowledged event is not in the log (task ${stored.taskId}, seq ${stored.seq})`);
}

/** A message that was taken is answered by its turn, if only by its end; and no message opens two turns. */
function checkAnswered(world: World, { taskId, rows }: WatchedTask): void {
  for (const { kind, epoch, seq, messageId } of rows) {
    if (kind !== 'message') continue;
    const runs = world.turns.filter((turn) => turn.taskId === taskId && turn.messageId === messageId);
    const answered = rows.some((row) => row.epoch === epoch && row.seq > seq);
    if (!answered && !runs.some(({ saidMessage }) => saidMessage))
      world.violated(`I10 a message was taken and never answered (task ${taskId}, seq ${seq})`);
    if (runs.length > 1) world.violated(`I3 a message was given to ${runs.length} agents (task ${taskId})`);
  }
}
