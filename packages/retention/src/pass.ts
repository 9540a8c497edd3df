import { isClusterError, sleep, type Telemetry } from '@a2a-cluster/core';
import type { CompactTask, RetentionStep, RetentionTask } from '@a2a-cluster/db';
import { Task } from '@a2a-js/sdk';
import type { BadTasks } from './bad-tasks.js';
import type { RetentionParts, RetentionResult } from './retention.js';

/** Documents are stored together up to about this many characters: one large task is a statement of its own. */
const MOST_CHARS = 1_048_576;

/** What one pass is made of. */
export interface PassParts extends RetentionParts {
  readonly telemetry: Telemetry;
  readonly bad: BadTasks;
  /** Ends the pass between two statements. */
  readonly closing: AbortSignal;
}

/** One pass over all tasks, step by step. Made anew for every pass. */
export class RetentionPass {
  #compacted = 0;
  #events = 0;
  #tasks = 0;

  constructor(private readonly parts: PassParts) {}

  /** @throws what the database throws when the fault is not one task's. */
  async run(): Promise<RetentionResult> {
    const { eventsMs, tasksMs } = this.parts.options;
    const { bad } = this.parts;
    bad.beginPass();
    if (eventsMs !== null)
      await this.#walk({ due: 'events', endedForMs: eventsMs }, (tasks) => this.#compact(tasks, eventsMs));
    if (tasksMs !== null)
      await this.#walk({ due: 'task', endedForMs: tasksMs }, (tasks) =>
        this.#apart(tasks, (some) => this.#purge(some, tasksMs)),
      );
    return { compacted: this.#compacted, events: this.#events, tasks: this.#tasks, failed: bad.failed };
  }

  async #walk(
    step: Pick<RetentionStep, 'due' | 'endedForMs'>,
    work: (tasks: readonly RetentionTask[]) => Promise<void>,
  ): Promise<void> {
    const { database, options, bad, closing } = this.parts;
    let after: string | null = '';
    while (after !== null && !closing.aborted) {
      const found: Awaited<ReturnType<typeof database.retention.find>> = await database.retention.find({
        ...step,
        after,
        limit: options.batchSize,
      });
      const tasks = found.tasks.filter(({ taskId }) => !bad.isLeftOut(taskId));
      if (tasks.length > 0) await work(tasks);
      after = found.next;
      if (after !== null) await this.#rest();
    }
  }

  async #rest(): Promise<void> {
    const { clock, closing, options } = this.parts;
    if (options.pauseMs > 0) await sleep({ clock, delayMs: options.pauseMs, signal: closing });
  }

  /** Those whose documents are stored already go together; the others are read and folded one by one. */
  async #compact(tasks: readonly RetentionTask[], endedForMs: number): Promise<void> {
    const store = (some: readonly CompactTask[]): Promise<void> =>
      this.#apart(some, (part) => this.#store(part, endedForMs));
    let batch: CompactTask[] = [];
    let chars = 0;
    for (const task of tasks) {
      if (this.parts.closing.aborted) return;
      const compact = await this.#documentOf(task);
      if (compact === null) continue;
      const size = compact.snapshot?.length ?? 0;
      if (batch.length > 0 && chars + size > MOST_CHARS) {
        await store(batch);
        batch = [];
        chars = 0;
      }
      batch.push(compact);
      chars += size;
    }
    await store(batch);
  }

  async #documentOf(task: RetentionTask): Promise<CompactTask | null> {
    const { taskId, version, snapshotVersion } = task;
    if (snapshotVersion === version) return { taskId, version, snapshot: null };
    const { database, reader, bad } = this.parts;
    try {
      const stored = await database.log.readTask({ taskId });
      if (stored?.version !== version) return null;
      return { taskId, version, snapshot: JSON.stringify(Task.toJSON(reader.fold(stored))) };
    } catch (error) {
      if (!mayBeOneTask(error)) throw error;
      bad.failedWith(taskId, error);
      return null;
    }
  }

  async #store(tasks: readonly CompactTask[], endedForMs: number): Promise<void> {
    const { database, options, bad, closing } = this.parts;
    const { maxEvents } = options;
    for (let left = tasks; left.length > 0 && !closing.aborted;) {
      const { events, taskIds } = await database.retention.compact({ tasks: left, endedForMs, maxEvents });
      this.#count('events', events);
      this.#events += events;
      if (left === tasks) this.#compacted += taskIds.length;
      bad.done(taskIds);
      if (events < maxEvents) return;
      const taken = new Set(taskIds);
      left = left.filter(({ taskId }) => taken.has(taskId)).map((task) => ({ ...task, snapshot: null }));
      await this.#rest();
    }
  }

  async #purge(tasks: readonly RetentionTask[], endedForMs: number): Promise<void> {
    const { database, options, bad, closing } = this.parts;
    const { maxEvents } = options;
    const left = new Set(tasks.map(({ taskId }) => taskId));
    while (left.size > 0 && !closing.aborted) {
      const { purged, events } = await database.retention.purge({
        taskIds: [...left],
        endedForMs,
        maxEvents,
      });
      this.#count('events', events);
      this.#count('tasks', purged.length);
      this.#events += events;
      this.#tasks += purged.length;
      bad.done(purged.map(({ taskId }) => taskId));
      for (const { taskId } of purged) left.delete(taskId);
      if (events < maxEvents) return;
      await this.#rest();
    }
  }

  /** Does it to all of them, and where that fails to each half, down to the one that is to blame. */
  async #apart<T extends { readonly taskId: string }>(
    tasks: readonly T[],
    work: (tasks: readonly T[]) => Promise<void>,
  ): Promise<void> {
    const [first] = tasks;
    if (first === undefined || this.parts.closing.aborted) return;
    try {
      await work(tasks);
    } catch (error) {
      if (!mayBeOneTask(error)) throw error;
      if (tasks.length === 1) return this.parts.bad.failedWith(first.taskId, error);
      const half = Math.ceil(tasks.length / 2);
      await this.#apart(tasks.slice(0, half), work);
      await this.#apart(tasks.slice(half), work);
    }
  }

  #count(what: 'events' | 'tasks', by: number): void {
    if (by > 0) this.parts.telemetry.count('pruned_total', { what }, by);
  }
}

/** Whether an error may be the fault of one task, and not of the way to the database. */
function mayBeOneTask(error: unknown): boolean {
  return !(
    isClusterError(error, 'DATABASE_UNREACHABLE') ||
    isClusterError(error, 'UNKNOWN_OUTCOME') ||
    isClusterError(error, 'CLOSED')
  );
}
