import { project, projectAll, toStreamResponse } from '@a2a-cluster/core';
import { StreamResponse, TaskStatus, type Task } from '@a2a-js/sdk';
import { canonical, type ReadRow } from './read-row.js';

/** What the log of a task folds to. */
export interface Fold {
  /** The task as of that seq, in the form frames are compared in; `''`: there is none yet. */
  foldedAt(seq: number): string;
  /** The seqs as of which the task is what a frame shows. */
  versionsOf(shown: string): readonly number[];
}

/** Folds are long texts, so few are kept. */
const KEPT = 8;

/** Folds rows of one task. */
export function createFold(read: readonly ReadRow[]): Fold {
  const kept = new Map<number, string>();
  let marks: readonly string[] | null = null;
  const foldedAt = (seq: number): string => {
    const present = kept.get(seq);
    if (present !== undefined) return present;
    const events = read.filter(({ row }) => row.seq <= seq).map(({ event }) => event);
    const data = projectAll({ task: undefined, events });
    const made = data ? canonical(StreamResponse.toJSON(toStreamResponse({ kind: 'task', data }))) : '';
    const [oldest] = kept.keys();
    if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(seq, made);
    return made;
  };
  const versionsOf = (shown: string): readonly number[] => {
    const { payload } = StreamResponse.fromJSON(JSON.parse(shown));
    if (payload?.$case !== 'task') return [];
    const mark = markOf(payload.value);
    marks ??= marksOf(read);
    return read.flatMap(({ row: { seq } }, index) =>
      marks?.[index] === mark && foldedAt(seq) === shown ? [seq] : [],
    );
  };
  return { foldedAt, versionsOf };
}

/** What tells most versions apart without writing each of them out. */
function marksOf(read: readonly ReadRow[]): string[] {
  let task: Task | undefined;
  return read.map(({ event }) => {
    task = project(task, event);
    return task ? markOf(task) : '';
  });
}

function markOf({ status, history, artifacts }: Task): string {
  const parts = artifacts.reduce((sum, artifact) => sum + artifact.parts.length, 0);
  return canonical([status ? TaskStatus.toJSON(status) : null, history.length, artifacts.length, parts]);
}
