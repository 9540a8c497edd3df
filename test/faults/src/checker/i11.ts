import type { CallRecord, StreamRecord, Violation, WireEvent } from '../history/history.js';
import { faultsIn } from './excuses.js';
import type { HistoryView, TaskView } from './view.js';

const TASK_NOT_FOUND = -32001;
const INTERNAL_ERROR = -32603;

/** I11: nobody learns anything of another owner's task. */
export function checkI11(view: HistoryView): Violation[] {
  const { calls, streams, pushes } = view.history;
  return [
    ...calls.flatMap((call) => told(call.taskId, checkCall(view, call))),
    ...streams.flatMap((stream) => told(stream.taskId, checkStream(view, stream))),
    ...pushes.flatMap((push) => {
      const other = taskOf(push.event);
      if (other === undefined || other === push.taskId) return [];
      return told(push.taskId, [`webhook ${push.hook} of the task was sent an event of task ${other}`]);
    }),
  ];
}

function told(taskId: string | null, texts: readonly string[]): Violation[] {
  return texts.map((text) => ({ invariant: 'I11', text, ...(taskId ? { taskId } : {}) }));
}

function checkCall(view: HistoryView, call: CallRecord): string[] {
  const { method, replica, owner, taskId, must, state, error, answeredAtMs } = call;
  const asked = `${method} of ${owner} on ${replica} at ${view.at(call.sentAtMs)}`;
  if (answeredAtMs === null) return [];
  if (must === 'not_found') {
    if (error?.code === TASK_NOT_FOUND) return [];
    if (error?.code === INTERNAL_ERROR && isHurt(view, call)) return [];
    return [
      `${asked} had to be answered TaskNotFound, and was ${error ? `${error.code} ${error.message}` : (state ?? 'a result')}`,
    ];
  }
  const task = taskId === null ? undefined : view.tasks.get(taskId);
  const stranger = state !== null && task?.row && !task.poisoned && task.row.owner !== owner;
  return stranger ? [`${asked} was answered ${state} for a task of ${task.row?.owner}`] : [];
}

/** A replica that cannot ask its database, or closes, knows of no task at all. */
function isHurt(view: HistoryView, { replica, sentAtMs, answeredAtMs }: CallRecord): boolean {
  const kinds = [
    'terminate',
    'stop',
    'cut_off',
    'statements',
    'database_down',
    'connections',
    'blocked',
  ] as const;
  return (
    faultsIn(view, { kinds, replica, fromMs: sentAtMs - 1_000, toMs: answeredAtMs ?? sentAtMs }).length > 0
  );
}

function checkStream(view: HistoryView, stream: StreamRecord): string[] {
  const task = stream.taskId === null ? undefined : view.tasks.get(stream.taskId);
  return stream.frames.flatMap(({ event, atMs }, index) => {
    const about = taskOf(event);
    const where = `frame ${index + 1} of stream ${stream.id} (${view.at(atMs)})`;
    if (about !== undefined && about !== stream.taskId) return [`${where} is of task ${about}`];
    return ownerTold(task, stream) && index === 0
      ? [`${where} shows a task of ${task?.row?.owner} to ${stream.owner}`]
      : [];
  });
}

function ownerTold(task: TaskView | undefined, { owner }: StreamRecord): boolean {
  return task?.row != null && !task.poisoned && task.row.owner !== owner;
}

function taskOf({ task, statusUpdate, artifactUpdate }: WireEvent): string | undefined {
  return task?.id ?? statusUpdate?.taskId ?? artifactUpdate?.taskId;
}
