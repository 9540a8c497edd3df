import { createSystemClock, errorText } from '@a2a-cluster/core';

/** One step of a scenario and how it went. */
export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** What was seen, for people. */
  readonly detail: string;
}

/** Runs the steps of a scenario one after the other. */
export interface StepRunner {
  readonly results: readonly StepResult[];
  /**
   * Runs one step: `work` gives the detail to show, or throws when what it saw is not what must be. Rethrows then,
   * so that nothing follows a step that failed.
   */
  run<Seen>(name: string, work: () => Promise<Observed<Seen>>): Promise<Seen>;
}

/** What a step saw. */
export interface Observed<Seen> {
  readonly seen: Seen;
  readonly detail: string;
}

/** Longest time of one step. */
const STEP_LIMIT_MS = 60_000;

/** A runner that tells `report` of every step as it ends. */
export function createStepRunner(report: (result: StepResult) => void): StepRunner {
  const clock = createSystemClock();
  const results: StepResult[] = [];
  const end = (result: StepResult): void => {
    results.push(result);
    report(result);
  };
  return {
    results,
    async run(name, work) {
      const startedMs = clock.monotonicMs();
      const took = (): number => Math.round(clock.monotonicMs() - startedMs);
      try {
        const { seen, detail } = await withLimit(work());
        end({ name, ok: true, ms: took(), detail });
        return seen;
      } catch (error) {
        end({ name, ok: false, ms: took(), detail: errorText(error) });
        throw error;
      }
    },
  };
}

/** The steps a person can read, one a line. */
export function stepLine(result: StepResult): string {
  const mark = result.ok ? 'ok  ' : 'FAIL';
  return `${mark} ${`${result.ms} ms`.padStart(9)}  ${result.name}: ${result.detail}`;
}

/** Throws with the sentence unless the condition holds. */
export function expectThat(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Error(sentence);
}

async function withLimit<Value>(work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`nothing came of it in ${STEP_LIMIT_MS / 1000} s`)),
      STEP_LIMIT_MS,
    );
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
