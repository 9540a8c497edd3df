import type { Violation } from '../history/history.js';
import type { HistoryView } from './view.js';

/** I2: the seqs of a task are 1..n. */
export function checkI02(view: HistoryView): Violation[] {
  return [...view.tasks.values()].flatMap(({ taskId, events }) => {
    const at = events.findIndex(({ seq }, index) => seq !== index + 1);
    const wrong = events[at];
    if (wrong === undefined) return [];
    const before = events[at - 1];
    return [
      {
        invariant: 'I2',
        text: `seq ${wrong.seq} (${wrong.holder}, epoch ${wrong.epoch}) where ${at + 1} belongs, after ${before?.seq ?? 'nothing'}`,
        taskId,
      },
    ];
  });
}
