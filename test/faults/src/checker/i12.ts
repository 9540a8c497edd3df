import type { ReplicaRecord, ResourceSample, Violation } from '../history/history.js';
import { endOf } from './excuses.js';
import type { HistoryView } from './view.js';

/** While a process starts and its load begins, everything grows. */
const WARM_UP_MS = 60_000;
/** Fewer than that tell nothing of a trend. */
const ENOUGH_MS = 120_000;
const MORE_HANDLES = 20;
const MEMORY_FACTOR = 1.3;
const MORE_BYTES = 30 * 1024 * 1024;
/** What a close takes beside its drain. */
const CLOSE_MS = 10_000;

const UNCAUGHT = 'a promise was rejected and nobody caught it';
const STRAY = /UnhandledPromiseRejection|heap out of memory|MaxListenersExceededWarning/;

/** I12: processes end only as they were told, nothing is left uncaught, and nothing grows without end. */
export function checkI12(view: HistoryView): Violation[] {
  const { replicas, logs } = view.history;
  const texts = replicas.flatMap((replica) => [
    ...checkExit(view, replica),
    ...replica.strayLines
      .filter((line) => STRAY.test(line))
      .map((line) => `${replica.name} printed: ${line.slice(0, 300)}`),
    ...checkResources(view, replica.name),
  ]);
  const uncaught = logs
    .filter(({ msg, level }) => msg === UNCAUGHT || level === 'fatal' || STRAY.test(msg))
    .map(({ atMs, replica, level, msg, fields }) => {
      const said = msg.split('\n')[0];
      return `${replica} logged at ${view.at(atMs)}: ${level} ${said} ${JSON.stringify(fields).slice(0, 300)}`;
    });
  return [...texts, ...uncaught].map((text) => ({ invariant: 'I12', text }));
}

function checkExit(view: HistoryView, { name, exit, exitedAtMs }: ReplicaRecord): string[] {
  const faults = view.history.faults.filter(({ replica }) => replica === name);
  if (faults.some(({ kind }) => kind === 'kill')) return [];
  const told = faults.filter(({ kind }) => kind === 'terminate');
  const [first] = told;
  if (exitedAtMs === null) {
    if (first === undefined) return [];
    const { settings, endedAtMs } = view.history;
    const awakeMs = Math.max(first.fromMs, ...faults.filter(({ kind }) => kind === 'stop').map(endOf));
    const dueMs = awakeMs + settings.drainTimeoutMs + CLOSE_MS;
    return dueMs < endedAtMs
      ? [`${name} was told to end at ${view.at(first.fromMs)} and still runs at ${view.at(endedAtMs)}`]
      : [];
  }
  const ended = `${name} ended with ${exit} at ${view.at(exitedAtMs)}`;
  if (first === undefined || first.fromMs > exitedAtMs) return [`${ended}, and nobody told it to`];
  // A second SIGTERM means: at once.
  return exit === 0 || told.length > 1
    ? []
    : [`${ended}, after it was told to end at ${view.at(first.fromMs)}`];
}

function checkResources(view: HistoryView, name: string): string[] {
  const warmAtMs = (view.replicas.get(name)?.startedAtMs ?? 0) + WARM_UP_MS;
  const samples = view.history.samples
    .filter(({ replica, atMs }) => replica === name && atMs >= warmAtMs)
    .sort((a, b) => a.atMs - b.atMs);
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.atMs - first.atMs < ENOUGH_MS) return [];
  const quarter = (index: number): ResourceSample[] => {
    const lengthMs = (last.atMs - first.atMs) / 4;
    const fromMs = first.atMs + index * lengthMs;
    return samples.filter(({ atMs }) => atMs >= fromMs && atMs <= fromMs + lengthMs);
  };
  const handles = (index: number): number => median(quarter(index).map(({ fileHandles }) => fileHandles));
  const bytes = (index: number): number => median(quarter(index).map(({ residentBytes }) => residentBytes));
  const found: string[] = [];
  // Connections are opened with the first load, memory is used with it: the first quarter tells nothing.
  if (handles(3) > handles(1) + MORE_HANDLES)
    found.push(`${name} has ${handles(3)} file handles in the last quarter, ${handles(1)} in the second`);
  if (bytes(3) > bytes(1) * MEMORY_FACTOR + MORE_BYTES)
    found.push(
      `${name} holds ${mebibytes(bytes(3))} MiB in the last quarter, ${mebibytes(bytes(1))} in the second`,
    );
  return found;
}

/** 0 where there is no value. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
