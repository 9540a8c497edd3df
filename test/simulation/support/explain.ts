import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { simulate, type Outcome, type Simulation } from './simulate.js';

/** Lines of the trace that are shown at once; the file has all. */
const LAST_LINES = 80;

/** What a developer needs of a run that found something: the violations, how to replay it, and how it came to it. */
export async function explain(simulation: Simulation): Promise<string> {
  const outcome = await simulate({ ...simulation, traced: true });
  const { seed, violations, kinds, trace } = outcome;
  return [
    `seed ${seed}, faults: ${kinds.join(', ') || 'none'}`,
    ...violations.map((violation) => `  ${violation}`),
    `replay it: SIMULATION_SEED=${seed} npm test -- test/simulation`,
    `the whole trace: ${save(outcome)}`,
    ...trace.slice(-LAST_LINES),
  ].join('\n');
}

function save({ seed, trace }: Outcome): string {
  const folder = path.join(process.cwd(), '.data');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `simulation-${seed}.log`);
  writeFileSync(file, `${trace.join('\n')}\n`);
  return path.relative(process.cwd(), file);
}
