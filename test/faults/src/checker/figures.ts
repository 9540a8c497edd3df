import type { History } from '../history/history.js';
import { hooksOf } from './push-hook.js';
import { repetitionsOf } from './push-repeats.js';
import { replicaOf, viewOf, type HistoryView } from './view.js';
import { sweptTurns } from './turns.js';

/** The numbers of a history that a report shows; what did not happen is left out. */
export function historyFigures(history: History): Record<string, number> {
  const { tables, streams, calls, pushes } = history;
  const view = viewOf(history);
  const swept = sweptTurns(view);
  const kills = new Map(
    history.faults.flatMap(({ kind, replica, fromMs }) =>
      kind === 'kill' && replica ? [[replica, fromMs]] : [],
    ),
  );
  const detections = swept.flatMap(({ row, turn }) => {
    const killedAtMs = kills.get(replicaOf(view, turn.holder));
    return killedAtMs === undefined || row.row.createdAtMs < killedAtMs
      ? []
      : [row.row.createdAtMs - killedAtMs];
  });
  const figures: Record<string, number> = {
    tasks: tables.tasks.length,
    events: tables.events.length,
    frames: streams.reduce((sum, { frames }) => sum + frames.length, 0),
    pushes: pushes.length,
    'pushed again': repetitions(view),
    'dead letters': tables.deadLetters.length,
    swept: swept.length,
    'stalled ms': stalledMs(history),
  };
  const errors = [...calls.map(({ error }) => error), ...streams.map(({ ended }) => ended?.error ?? null)];
  for (const error of errors) {
    if (error === null) continue;
    const name = `refused ${error.reason ?? error.code}`;
    figures[name] = (figures[name] ?? 0) + 1;
  }
  if (history.databaseClockIsSteady && detections.length > 0) {
    const sorted = detections.sort((a, b) => a - b);
    figures['detection p50 ms'] = Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0);
    figures['detection max ms'] = Math.round(sorted.at(-1) ?? 0);
  }
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value > 0));
}

/** Deliveries of what had been accepted before. */
function repetitions(view: HistoryView): number {
  const hooks = [...view.tasks.values()].flatMap((task) => hooksOf(view, task));
  return hooks.reduce((sum, hook) => sum + repetitionsOf(hook).length, 0);
}

/** Samples are taken once a second. */
const SAMPLE_MS = 1_000;
/** Less is no stall. */
const STALL_MS = 500;

/** For how long the harness itself did not come to its turn, at most: a machine that starves it starves replicas, too. */
export function stalledMs({ samples }: Pick<History, 'samples'>): number {
  const moments = samples.map(({ atMs }) => atMs).sort((a, b) => a - b);
  const gaps = moments.map((atMs, index) => atMs - (moments[index - 1] ?? atMs) - SAMPLE_MS);
  const longest = Math.max(0, ...gaps);
  return longest < STALL_MS ? 0 : Math.round(longest);
}
