import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createTestDatabase, workspaceRoot, type TestProvider } from '@a2a-cluster/testing';
import { checkHistory, mergedHistory } from './checker/check.js';
import { historyFigures } from './checker/figures.js';
import { saveHistory } from './history/file.js';
import type { History, Violation } from './history/history.js';
import type { Scenario } from './scenario.js';
import { oneAtATime } from './tools/one-at-a-time.js';
import { nowMs } from './world/now.js';
import type { Size } from './world/settings.js';
import { World } from './world/world.js';

/** What one scenario is run with. */
export interface RunOptions {
  readonly scenario: Scenario;
  readonly provider: TestProvider;
  readonly seed: number;
  readonly size: Size;
  readonly minutes: number;
  readonly mutation?: string | undefined;
  /** Keep the history also when nothing was violated. */
  readonly keep: boolean;
  say(text: string): void;
}

/** How it went. */
export interface RunResult {
  readonly id: string;
  readonly title: string;
  readonly database: TestProvider;
  readonly seed: number;
  readonly ok: boolean;
  readonly ms: number;
  readonly figures: Readonly<Record<string, number | string>>;
  readonly violations: readonly Violation[];
  /** Merged histories of the tasks that the violations name, by task. */
  readonly merged: Readonly<Record<string, readonly string[]>>;
  /** Where the history lies, if it was kept. */
  readonly file: string | null;
}

/** How long deliveries may go on behind a scenario; what a dead sender did not begin is looked for after a while only. */
const PUSHED_WITHIN_MS = { quick: 20_000, full: 60_000 };

/** How many tasks' merged histories are told. */
const MERGED_TASKS = 3;

/**
 * Runs one scenario in a database of its own, judges it, and ends everything it started. Waits for other harnesses on
 * this machine.
 */
export function runScenario(options: RunOptions): Promise<RunResult> {
  const beganAtMs = nowMs();
  // A run that cannot even begin is one red run, and not the end of all that were asked for.
  const run = (): Promise<RunResult> =>
    runAlone(options).catch((error: unknown) => notBegun(options, { beganAtMs, error }));
  return oneAtATime(run, options.say);
}

/** What the run under way has to end. */
let underWay: (() => Promise<void>) | null = null;

/** Ends the run that is under way, if there is one, and removes its database: the harness was told to stop. */
export async function abandonRun(): Promise<void> {
  await underWay?.().catch(() => {});
}

async function runAlone(options: RunOptions): Promise<RunResult> {
  const { scenario, provider } = options;
  const beganAtMs = nowMs();
  const database = await createTestDatabase({ provider });
  const world = await World.create({ ...options, scenario: scenario.id, databaseUrl: database.url });
  const end = async (): Promise<void> => {
    await world.end();
    await database.drop();
  };
  underWay = end;
  try {
    await inTime(scenario.run(world), limitMs(options)).catch((error: unknown) =>
      world.expect(false, `it could not be run: ${reasonOf(error)}`),
    );
    await world.pushed({ withinMs: PUSHED_WITHIN_MS[options.size] });
    const history = await world.history().catch((error: unknown) => {
      world.expect(false, `its tables could not be read: ${reasonOf(error)}`);
      return null;
    });
    return await judged({ options, world, history, beganAtMs });
  } finally {
    underWay = null;
    await end();
  }
}

function notBegun(
  { scenario, provider, seed }: RunOptions,
  { beganAtMs, error }: { readonly beganAtMs: number; readonly error: unknown },
): RunResult {
  const text = `it could not be begun or ended: ${reasonOf(error)}`;
  return {
    ...{ id: scenario.id, title: scenario.title, database: provider, seed, ok: false },
    ...{ ms: nowMs() - beganAtMs, figures: {}, merged: {}, file: null },
    violations: [{ invariant: scenario.id, text }],
  };
}

/** How long a scenario may take before it counts as stuck, beside the minutes of those that last. */
const STUCK_MS = { quick: 3 * 60_000, full: 15 * 60_000 };

function limitMs({ scenario, size, minutes }: RunOptions): number {
  return STUCK_MS[size] + (scenario.onlyByName ? minutes * 60_000 : 0);
}

/** Rejects when the work is not done by then; it is ended by the end of the world it runs in. */
async function inTime(work: Promise<void>, withinMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it is stuck: not done after ${withinMs} ms`)), withinMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

interface Seen {
  readonly options: RunOptions;
  readonly world: World;
  readonly history: History | null;
  readonly beganAtMs: number;
}

async function judged({ options, world, history, beganAtMs }: Seen): Promise<RunResult> {
  const { scenario, provider, seed } = options;
  const violations = [...world.violations, ...(history ? checkHistory(history) : [])];
  const ok = violations.length === 0;
  const named = new Set(violations.flatMap(({ taskId }) => taskId ?? []));
  const merged = history
    ? [...named].slice(0, MERGED_TASKS).map((taskId) => [taskId, mergedHistory(history, taskId)] as const)
    : [];
  return {
    ...{ id: scenario.id, title: scenario.title, database: provider, seed, ok, violations },
    ms: Math.round(nowMs() - beganAtMs),
    figures: { ...(history ? historyFigures(history) : {}), ...world.figures },
    merged: Object.fromEntries(merged),
    file: history && (options.keep || !ok) ? await keep(history) : null,
  };
}

async function keep(history: History): Promise<string> {
  const folder = path.join(workspaceRoot, '.data/faults');
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, `${history.scenario}-${history.database}-${history.seed}.json`);
  await saveHistory(file, history);
  return path.relative(workspaceRoot, file);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
