import type { DeadLetterRow, PushConfigRow, PushRecord } from '../history/history.js';
import { shownForm, type ReadRow } from './read-row.js';
import type { HistoryView, TaskView } from './view.js';

/** One webhook of a task, and everything it was sent. */
export interface HookView {
  readonly task: TaskView;
  /** The last segment of its path. */
  readonly name: string;
  /** Null: deleted. */
  readonly config: PushConfigRow | null;
  /** Attempts of events of the log, as they came. */
  readonly attempts: readonly Attempt[];
  /** The events of the task that webhooks are sent, in order. */
  readonly events: readonly ReadRow[];
  readonly letters: readonly DeadLetterRow[];
  /** What is wrong with single deliveries; those are not among the attempts. */
  readonly unreadable: readonly string[];
}

/** One attempt. */
export interface Attempt {
  readonly push: PushRecord;
  readonly seq: number;
}

/** Whether a webhook has taken it. */
export function isAccepted({ answer }: PushRecord): boolean {
  return typeof answer === 'number' && answer >= 200 && answer < 300;
}

/** Statuses that ask for another try, beside all from 500 on. */
const TRY_AGAIN: ReadonlySet<number> = new Set([408, 425, 429]);

/** What says that the receiver is gone. */
export const GONE = 410;

/** Whether the answer is final for this event, though it was not accepted. */
export function isRefused({ answer }: PushRecord): boolean {
  return (
    typeof answer === 'number' && answer >= 300 && answer < 500 && answer !== GONE && !TRY_AGAIN.has(answer)
  );
}

/** The webhooks of a task. */
export function hooksOf(view: HistoryView, task: TaskView): HookView[] {
  const names = new Set([...task.configs.map(nameOf), ...task.pushes.map(({ hook }) => hook)]);
  return [...names].map((name) => hookOf(view, task, name));
}

function nameOf({ url }: PushConfigRow): string {
  return new URL(url).pathname.split('/').at(-1) ?? '';
}

function hookOf(view: HistoryView, task: TaskView, name: string): HookView {
  const config = task.configs.find((each) => nameOf(each) === name) ?? null;
  const attempts: Attempt[] = [];
  const unreadable: string[] = [];
  const pushes = task.pushes.filter(({ hook }) => hook === name).sort((a, b) => a.atMs - b.atMs);
  for (const push of pushes) {
    const seq = seqOf(push, { task, config });
    if (typeof seq === 'number') attempts.push({ push, seq });
    else unreadable.push(`what came at ${view.at(push.atMs)} ${seq}`);
  }
  return {
    ...{ task, name, config, attempts, unreadable },
    events: task.read.filter(({ shown }) => shown !== null),
    letters: task.letters.filter(({ configId }) => configId === config?.configId),
  };
}

/** The seq that an id names, or what is wrong with it. */
function seqOf(
  { id, event }: PushRecord,
  { task, config }: { readonly task: TaskView; readonly config: PushConfigRow | null },
): number | string {
  if (id === null) return 'has no id';
  const [taskId, number, configId, ...rest] = id.split(':').map(decoded);
  const seq = Number(number);
  if (!Number.isInteger(seq) || configId === undefined || rest.length > 0)
    return `has the id ${id}, which is none`;
  if (taskId !== task.taskId) return `has the id ${id}, which is of another task`;
  if (config !== null && configId !== config.configId)
    return `has the id ${id}, the config is ${config.configId}`;
  const read = task.read.find(({ row }) => row.seq === seq);
  if (read === undefined) return `has the id ${id}, which is of no row`;
  if (read.shown === null) return `has the id ${id}, which is of a message that is for its caller alone`;
  return read.shown === shownForm(event) ? seq : `has the id ${id} and is not what the log holds there`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
