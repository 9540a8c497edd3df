import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import { runCrash } from '../scenario/crash.js';
import { runExercise } from '../scenario/exercise.js';
import { stepLine, type StepResult } from '../scenario/steps.js';

/** What the commands are told that act as clients of running replicas. */
export interface ScenarioOptions {
  readonly urls: readonly string[];
  /** One JSON object at the end in place of a line per step. */
  readonly json: boolean;
  readonly token?: string | undefined;
}

/** Starts, watches, cancels and follows up, each on another replica; prints what it saw. */
export async function exercise(options: ScenarioOptions): Promise<number> {
  const result = await runExercise(clientOptions(options));
  return finish(result, options.json);
}

/** Kills the holder of a task and watches the others; `ttlMs` is the TTL the replicas run with. */
export async function crash(options: ScenarioOptions & { readonly ttlMs: number }): Promise<number> {
  const result = await runCrash({ ...clientOptions(options), ttlMs: options.ttlMs });
  return finish(result, options.json);
}

function clientOptions({ urls, token, json }: ScenarioOptions): {
  urls: readonly string[];
  token?: string;
  report: (result: StepResult) => void;
} {
  const report = (result: StepResult): void => {
    if (!json) process.stdout.write(`${stepLine(result)}\n`);
  };
  return { urls, report, ...(token === undefined ? {} : { token }) };
}

function finish(result: { readonly ok: boolean }, json: boolean): number {
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else process.stdout.write(result.ok ? 'Every step was as expected.\n' : 'It did not go as expected.\n');
  return result.ok ? EXIT_OK : EXIT_FAILED;
}
