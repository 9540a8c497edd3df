import type { Artifact, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { isTerminal } from './states.js';
import type { TaskEvent } from './task-event.js';

/**
 * The task after an event: a pure fold with the merge rules of the SDK's `ResultManager` (1.3.0), plus two guards
 * the log needs: nothing changes a task that has ended, and no event changes a task that does not exist.
 *
 * Never changes its arguments; what it returns may share parts with them, so treat both as read-only.
 * `undefined` in and out: no task yet.
 *
 * @param userMessage the message that opened the turn; a `task` event whose history lacks it gets it in front.
 */
export function project(task: Task | undefined, event: TaskEvent, userMessage?: Message): Task | undefined {
  if (task !== undefined && isTerminal(task.status?.state)) return task;
  switch (event.kind) {
    case 'task':
      return mergeTask(task, event.data, userMessage);
    case 'statusUpdate':
      return task && applyStatus(task, event.data);
    case 'artifactUpdate':
      return task && applyArtifact(task, event.data);
    case 'message':
      return task && { ...task, history: appendMessage(task.history, event.data) };
  }
}

function mergeTask(stored: Task | undefined, incoming: Task, userMessage?: Message): Task {
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

function mergeArtifacts(stored: readonly Artifact[], incoming: readonly Artifact[]): Artifact[] {
  const merged = [...stored];
  for (const artifact of incoming) {
    const at = merged.findIndex((other) => other.artifactId === artifact.artifactId);
    if (at === -1) merged.push(artifact);
    else merged[at] = artifact;
  }
  return merged;
}

function applyStatus(task: Task, update: TaskStatusUpdateEvent): Task {
  const next: Task = { ...task, status: update.status };
  if (update.metadata) next.metadata = { ...task.metadata, ...update.metadata };
  if (update.status?.message) next.history = appendMessage(task.history, update.status.message);
  return next;
}

function applyArtifact(task: Task, update: TaskArtifactUpdateEvent): Task {
  if (!update.artifact) return task;
  const artifacts = [...task.artifacts];
  const at = artifacts.findIndex((other) => other.artifactId === update.artifact?.artifactId);
  const present = artifacts[at];
  if (present === undefined) artifacts.push(update.artifact);
  else artifacts[at] = update.append ? appendParts(present, update.artifact) : update.artifact;
  const next: Task = { ...task, artifacts };
  if (update.metadata) next.metadata = { ...task.metadata, ...update.metadata };
  return next;
}

function appendParts(present: Artifact, chunk: Artifact): Artifact {
  const next: Artifact = { ...present, parts: [...present.parts, ...chunk.parts] };
  if (chunk.name) next.name = chunk.name;
  if (chunk.description) next.description = chunk.description;
  if (chunk.metadata) next.metadata = { ...present.metadata, ...chunk.metadata };
  return next;
}

function appendMessage(history: readonly Message[], message: Message): Message[] {
  return hasMessage(history, message) ? [...history] : [...history, message];
}

function hasMessage(history: readonly Message[], message: Message): boolean {
  return history.some((other) => other.messageId === message.messageId);
}
