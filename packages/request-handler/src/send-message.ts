import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import { isPruned } from '@a2a-cluster/event-stream';
import type { TaskReader } from '@a2a-cluster/task-store';
import { followTurn } from './follow-turn.js';
import { withHistoryLength } from './history-length.js';
import { openTurn, type Incoming, type Opened, type OpenTurnParts } from './open-turn.js';
import { outcomeUnknown } from './refusals.js';
import { answerRepeat, streamRepeat } from './repeat-message.js';
import type { ClientConnection } from './request-signal.js';
import type { RunningTurn } from './running-turn.js';
import { withReset } from './reset-to-task.js';
import { toClientResponse } from './visible-response.js';

/** Answers a message with the task its turn leaves, or with the agent's message. */
export async function sendMessage(parts: OpenTurnParts, incoming: Incoming): Promise<Message | Task> {
  const { configuration } = incoming.request;
  const { scope, signal } = incoming;
  const immediately = configuration?.returnImmediately === true;
  const opened = await openTurn(parts, incoming);
  const answer =
    opened.kind === 'repeat'
      ? await answerRepeat(parts, { ...opened, scope, signal, immediately })
      : await followToAnswer(parts, incoming, opened);
  return 'messageId' in answer ? answer : withHistoryLength(answer, configuration?.historyLength);
}

/** Answers a message with the events of its turn as they are stored. */
export async function* streamMessage(
  parts: OpenTurnParts,
  incoming: Incoming,
  connection: ClientConnection | undefined,
): AsyncGenerator<StreamResponse, void, undefined> {
  const historyLength = incoming.request.configuration?.historyLength;
  const { scope, signal } = incoming;
  const opened = await openTurn(parts, incoming);
  if (opened.kind === 'repeat') {
    yield* streamRepeat(parts, { ...opened, scope, signal, historyLength, connection });
    return;
  }
  const unfollow = parts.turns.follow();
  try {
    const reset = { taskId: opened.taskId, scope, historyLength };
    yield* withReset(parts, reset, sent(opened, { historyLength, connection }));
  } finally {
    unfollow();
  }
}

async function* sent(
  opened: Extract<Opened, { kind: 'turn' }>,
  to: { readonly historyLength: number | undefined; readonly connection: ClientConnection | undefined },
): AsyncGenerator<StreamResponse, void, undefined> {
  for await (const followed of followTurn(opened)) {
    yield toClientResponse(followed, to.historyLength);
    await to.connection?.writable();
  }
}

async function followToAnswer(
  parts: OpenTurnParts,
  incoming: Incoming,
  opened: Extract<Opened, { kind: 'turn' }>,
): Promise<Message | Task> {
  const immediately = incoming.request.configuration?.returnImmediately === true;
  const { turn, taskId } = opened;
  let seq = opened.epoch ?? 0;
  const unfollow = parts.turns.follow();
  try {
    for await (const followed of followTurn(opened)) {
      if (followed.type === 'message') return followed.message;
      seq = followed.row.seq;
      if (immediately || followed.meaning === 'auth_required') break;
    }
    return await readAnswer(parts.reader, { turn, taskId, scope: incoming.scope, seq });
  } catch (error) {
    // The turn has ended long ago, and so has what it said; the task tells all of it.
    if (!isPruned(error)) throw error;
    return await readAnswer(parts.reader, { turn: null, taskId, scope: incoming.scope, seq });
  } finally {
    unfollow();
  }
}

interface Answer {
  /** Null: its own copy is not to be relied on. */
  readonly turn: RunningTurn | null;
  readonly taskId: string;
  readonly scope: Incoming['scope'];
  readonly seq: number;
}

/** The task as of the event that ended the wait; the turn's own copy saves the read where it is exactly that. */
async function readAnswer(reader: TaskReader, answer: Answer): Promise<Task> {
  const own = answer.turn?.taskAt(answer.seq);
  if (own !== undefined) return own;
  const stored = await reader.read({ taskId: answer.taskId, scope: answer.scope });
  if (stored === null) throw outcomeUnknown(answer.taskId);
  return stored.task;
}
