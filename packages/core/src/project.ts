import type { Artifact, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { isTerminal } from './states.js';
import type { TaskEvent } from './task-event.js';

/**
 * The task after an event: a pure fold with the merge rules of the SDK's `ResultManager` (1.3.0), plus the guards
 * the log needs: nothing changes a task that has ended, no event changes a task that does not exist, and an event
 * of another task changes nothing. A `message` event adds the message to the history (protocol 1), whatever its id: a
 * client may use one twice. The `ResultManager` has no such event.
 *
 * Never changes its arguments; what it returns may share parts with them, so treat both as read-only. Events and
 * task are complete objects as the SDK's codec gives them (lists present, even if empty).
 * `undefined` in and out: no task yet.
 *
 * A writer that stores the merged task of a `task` event goes on from the projection of that stored event: where an
 * agent repeats an artifact id inside one task (which A2A forbids) merging twice is not merging once.
 *
 * Cost: the lists that an event touches are copied, so appending to an artifact of n parts copies n references. To
 * fold a whole log use {@link projectAll}.
 *
 * @param userMessage the message that opened the turn; a `task` event whose history lacks it gets it in front.
 */
export function project(task: Task | undefined, event: TaskEvent, userMessage?: Message): Task | undefined {
  return apply({ task, event, userMessage, ours: undefined });
}

/** What {@link projectAll} folds. */
export interface ProjectAll {
  /** The task before the first event; `undefined`: no task yet. */
  readonly task: Task | undefined;
  readonly events: Iterable<TaskEvent>;
  /** As in {@link project}. Events of a log need none: a stored `task` event is the merged task. */
  readonly userMessage?: Message | undefined;
}

/**
 * The task after all the events: the same as {@link project} one by one, with the same promises, in time linear to
 * the number of parts. Lists made on the way are grown in place, and nobody has seen them before it returns.
 */
export function projectAll(fold: ProjectAll): Task | undefined {
  const ours: Ours = new WeakSet();
  let task = fold.task;
  for (const event of fold.events) task = apply({ task, event, userMessage: fold.userMessage, ours });
  return task;
}

/** Lists that this fold made and may change; `undefined`: none, copy always. */
type Ours = WeakSet<readonly unknown[]>;

interface Step {
  readonly task: Task | undefined;
  readonly event: TaskEvent;
  readonly userMessage: Message | undefined;
  readonly ours: Ours | undefined;
}

function apply({ task, event, userMessage, ours }: Step): Task | undefined {
  if (task !== undefined && isTerminal(task.status?.state)) return task;
  switch (event.kind) {
    case 'task':
      if (task !== undefined && task.id !== event.data.id) return task;
      return mergeTask(task, event.data, userMessage);
    case 'statusUpdate':
      return task && task.id === event.data.taskId ? applyStatus(task, event.data, ours) : task;
    case 'artifactUpdate':
      return task && task.id === event.data.taskId ? applyArtifact(task, event.data, ours) : task;
    case 'message':
      return task && { ...task, history: append(task.history, event.data, ours) };
  }
}

function mergeTask(stored: Task | undefined, incoming: Task, userMessage: Message | undefined): Task {
  const merged: Task = { ...incoming };
  if (stored !== undefined) {
    if (incoming.history.length === 0) merged.history = stored.history;
    merged.artifacts = mergeArtifacts(stored.artifacts, incoming.artifacts);
    if (stored.metadata || incoming.metadata) merged.metadata = { ...stored.metadata, ...incoming.metadata };
  }
  if (userMessage && !hasMessage(merged.history, userMessage))
    merged.history = [userMessage, ...merged.history];
  return merged;
}

/** Stored ones keep their place and give way to an incoming one of the same id (the last, if there are several). */
function mergeArtifacts(stored: Artifact[], incoming: Artifact[]): Artifact[] {
  if (stored.length === 0) return incoming;
  if (incoming.length === 0) return stored;
  const byId = new Map(incoming.map((artifact) => [artifact.artifactId, artifact]));
  const present = new Set(stored.map((artifact) => artifact.artifactId));
  return [
    ...stored.map((artifact) => byId.get(artifact.artifactId) ?? artifact),
    ...incoming.filter((artifact) => !present.has(artifact.artifactId)),
  ];
}

function applyStatus(task: Task, update: TaskStatusUpdateEvent, ours: Ours | undefined): Task {
  const next: Task = { ...task, status: update.status };
  if (update.metadata) next.metadata = { ...task.metadata, ...update.metadata };
  if (update.status?.message) next.history = addMessage(task.history, update.status.message, ours);
  return next;
}

function applyArtifact(task: Task, update: TaskArtifactUpdateEvent, ours: Ours | undefined): Task {
  const chunk = update.artifact;
  if (!chunk) return task;
  const artifacts = owned(task.artifacts, ours);
  const at = artifacts.findIndex((other) => other.artifactId === chunk.artifactId);
  const present = artifacts[at];
  if (present === undefined) artifacts.push(chunk);
  else artifacts[at] = update.append ? appendParts(present, chunk, ours) : chunk;
  const next: Task = { ...task, artifacts };
  if (update.metadata) next.metadata = { ...task.metadata, ...update.metadata };
  return next;
}

function appendParts(present: Artifact, chunk: Artifact, ours: Ours | undefined): Artifact {
  const parts = owned(present.parts, ours);
  for (const part of chunk.parts) parts.push(part);
  const next: Artifact = { ...present, parts };
  if (chunk.name) next.name = chunk.name;
  if (chunk.description) next.description = chunk.description;
  if (chunk.metadata) next.metadata = { ...present.metadata, ...chunk.metadata };
  return next;
}

function addMessage(history: Message[], message: Message, ours: Ours | undefined): Message[] {
  return hasMessage(history, message) ? history : append(history, message, ours);
}

function append(history: Message[], message: Message, ours: Ours | undefined): Message[] {
  const grown = owned(history, ours);
  grown.push(message);
  return grown;
}

function hasMessage(history: readonly Message[], message: Message): boolean {
  return history.some((other) => other.messageId === message.messageId);
}

/** The list itself when this fold made it, else a copy that from now on belongs to the fold. */
function owned<T>(list: readonly T[], ours: Ours | undefined): T[] {
  if (ours?.has(list)) return list as T[];
  const copy = [...list];
  ours?.add(copy);
  return copy;
}
