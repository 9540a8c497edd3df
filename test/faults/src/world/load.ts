import { randomUUID } from 'node:crypto';
import type { StreamEnd } from '../history/history.js';
import type { Replica } from './replica.js';
import type { Sink } from './sink.js';
import { stateOf, type Stream } from './stream.js';

/** Tasks to be started. */
export interface LoadOptions {
  readonly tasks: number;
  /** The demo agent's script, the same for all or one for each. */
  readonly script: string | ((index: number) => string);
  /** Who runs them, in turns. */
  readonly holders: readonly Replica[];
  /** Where their subscribers are, in turns; default: the holders, each task watched by the next one. */
  readonly watchers?: readonly Replica[];
  /** Whether each has a webhook. Default true. */
  readonly push?: boolean;
  /** Default `alice`. */
  readonly owner?: string;
}

/** A task under load: who runs it, who watches it. */
export interface LoadTask {
  readonly taskId: string;
  readonly holder: Replica;
  readonly watcher: Replica;
  /** The stream of the send, at the holder. */
  readonly caller: Stream;
  /** A subscription at the watcher. */
  readonly subscriber: Stream;
  /** The subscription's end. */
  readonly ended: Promise<StreamEnd>;
}

/**
 * Starts tasks and resolves when each of them is running: its first WORKING, or its end, was seen at the watcher. A
 * task whose turn never began is left out.
 */
export async function startLoad(options: LoadOptions, sink: Sink): Promise<LoadTask[]> {
  const indexes = Array.from({ length: options.tasks }, (_, index) => index);
  const started = await Promise.all(indexes.map((index) => startTask(options, { index, sink })));
  return started.filter((task) => task !== null);
}

async function startTask(
  options: LoadOptions,
  { index, sink }: { readonly index: number; readonly sink: Sink },
): Promise<LoadTask | null> {
  const { script, holders, watchers = holders, push = true, owner = 'alice' } = options;
  const holder = inTurn(holders, index);
  const watcher = watchers === holders ? inTurn(holders, index + 1) : inTurn(watchers, index);
  const text = typeof script === 'string' ? script : script(index);
  const caller = holder.as(owner).stream({ text, ...(push ? { webhook: sink.url(randomUUID()) } : {}) });
  const taskId = await caller.taskId();
  if (taskId === undefined) return null;
  const subscriber = watcher.as(owner).subscribe(taskId);
  await subscriber.find((event) => {
    const state = stateOf(event);
    return state !== undefined && state !== 'TASK_STATE_SUBMITTED';
  });
  return { taskId, holder, watcher, caller, subscriber, ended: subscriber.ended };
}

function inTurn<T>(from: readonly T[], index: number): T {
  const chosen = from[index % from.length];
  if (chosen === undefined) throw new Error('nobody to choose from');
  return chosen;
}
