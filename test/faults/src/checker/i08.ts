import type { FaultKind, PushConfigRow, PushRecord, Violation } from '../history/history.js';
import { CLOCK_SLACK_MS, faultsIn } from './excuses.js';
import { shownForm, type ReadRow } from './read-row.js';
import { replicaOf, type HistoryView, type TaskView } from './view.js';

/** How long a delivery takes at most: the sender gives up after that. */
const DELIVERY_MS = 5_000;

/** What may keep the writer of a row from its one attempt. */
const EXCUSES: readonly FaultKind[] = [
  'kill',
  'stop',
  'terminate',
  'cut_off',
  'blocked',
  'statements',
  'database_down',
  'connections',
  'client',
];

/** I8: every row after the registration is pushed, once, in the order of the log, as far as one attempt goes. */
export function checkI08(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap((task) => {
    if (task.poisoned) return [];
    const hooks = new Set([...task.configs.map(hookOf), ...task.pushes.map(({ hook }) => hook)]);
    return [...hooks].flatMap((hook) =>
      checkHook(view, task, hook).map((text) => ({
        invariant: 'I8',
        text: `webhook ${hook}: ${text}`,
        taskId: task.taskId,
      })),
    );
  });
}

function hookOf({ url }: PushConfigRow): string {
  return new URL(url).pathname.split('/').at(-1) ?? '';
}

interface Delivery {
  readonly push: PushRecord;
  readonly read: ReadRow;
}

function checkHook(view: HistoryView, task: TaskView, hook: string): string[] {
  const pushes = task.pushes.filter((push) => push.hook === hook).sort((a, b) => a.atMs - b.atMs);
  const found: string[] = [];
  const delivered: Delivery[] = [];
  const left = new Map<string, ReadRow[]>();
  for (const read of task.read)
    if (read.shown !== null) left.set(read.shown, [...(left.get(read.shown) ?? []), read]);
  for (const push of pushes) {
    const rows = left.get(shownForm(push.event));
    const read = rows?.shift();
    if (read) delivered.push({ push, read });
    else
      found.push(
        rows
          ? `what came at ${view.at(push.atMs)} had come before`
          : `what came at ${view.at(push.atMs)} is in no row`,
      );
  }
  return [...found, ...checkOrder(view, delivered), ...checkMissing(view, { task, hook, delivered })];
}

/** In order among the rows of one writer: order between replicas is not promised yet. */
function checkOrder(view: HistoryView, delivered: readonly Delivery[]): string[] {
  const last = new Map<string, number>();
  return delivered.flatMap(({ push, read: { row } }) => {
    const before = last.get(row.holder) ?? 0;
    last.set(row.holder, row.seq);
    return row.seq < before
      ? [`seq ${row.seq} of ${row.holder} came at ${view.at(push.atMs)}, after seq ${before}`]
      : [];
  });
}

interface Missing {
  readonly task: TaskView;
  readonly hook: string;
  readonly delivered: readonly Delivery[];
}

function checkMissing(view: HistoryView, { task, hook, delivered }: Missing): string[] {
  const config = task.configs.find((each) => hookOf(each) === hook);
  if (config === undefined) return [];
  const got = new Set(delivered.map(({ read }) => read));
  const firstSeq = Math.min(...delivered.map(({ read }) => read.row.seq));
  return task.read.flatMap((read) => {
    const { row, shown } = read;
    if (shown === null || got.has(read)) return [];
    if (!isRegistered(view, { read, config, firstSeq }) || isExcused(view, read)) return [];
    if (isOnItsWay(view, read, delivered)) return [];
    return [
      `seq ${row.seq} (${row.holder}, ${view.at(row.createdAtMs)}) never came, registered at ${view.at(config.createdAtMs)}`,
    ];
  });
}

function isRegistered(
  view: HistoryView,
  of: { readonly read: ReadRow; readonly config: PushConfigRow; readonly firstSeq: number },
): boolean {
  const { row } = of.read;
  // After one was pushed its successors are, whatever the clocks say.
  if (row.seq > of.firstSeq) return true;
  return view.history.databaseClockIsSteady && row.createdAtMs > of.config.createdAtMs + CLOCK_SLACK_MS;
}

/** One after the other: what comes after the last that came waits, while its writer is still delivering at the end. */
function isOnItsWay(view: HistoryView, { row }: ReadRow, delivered: readonly Delivery[]): boolean {
  const last = delivered.findLast(({ read }) => read.row.holder === row.holder);
  return (
    last !== undefined && last.read.row.seq < row.seq && last.push.atMs > view.history.endedAtMs - DELIVERY_MS
  );
}

function isExcused(view: HistoryView, { row }: ReadRow): boolean {
  const { databaseClockIsSteady: steady, beganAtMs, endedAtMs } = view.history;
  const fromMs = steady ? row.createdAtMs - CLOCK_SLACK_MS : beganAtMs;
  const toMs = steady ? row.createdAtMs + DELIVERY_MS : endedAtMs;
  if (steady && toMs > endedAtMs) return true;
  return faultsIn(view, { kinds: EXCUSES, replica: replicaOf(view, row.holder), fromMs, toMs }).length > 0;
}
