import type { TestProvider } from '@a2a-cluster/testing';
import type { Wish } from './command-line.js';
import { runScenario, type RunResult } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import { mutations, type Mutation } from './tools/test-build.js';

/** What a mutation run is made of. */
export interface MutationRun {
  readonly wish: Wish;
  readonly providers: readonly TestProvider[];
  readonly scenarios: readonly Scenario[];
  say(text: string): void;
  print(...lines: readonly string[]): void;
}

interface Verdict {
  readonly mutation: Mutation;
  /** The run that noticed it, if one did. */
  readonly noticed: RunResult | null;
  readonly runs: number;
}

/**
 * Removes one rule of the protocol after the other from every replica and runs the scenarios that should notice,
 * until one does. The exit code: 0 when every removal was noticed.
 */
export async function runMutations(run: MutationRun): Promise<number> {
  const verdicts: Verdict[] = [];
  const sound = new Map<string, boolean>();
  for (const mutation of await mutations()) {
    if (run.wish.ids.length > 0 && !mutation.scenarios.some((id) => run.wish.ids.includes(id))) continue;
    verdicts.push(await judge(mutation, { ...run, sound }));
  }
  const missed = verdicts.filter((verdict) => verdict.noticed === null);
  if (run.wish.json) run.print(verdictsJson(verdicts, run.wish.seed));
  else run.print(verdictsTable(verdicts), `${verdicts.length} rules removed, ${missed.length} not noticed`);
  return verdicts.length > 0 && missed.length === 0 ? 0 : 1;
}

/**
 * A scenario that is red by itself notices nothing, so each is run once with every rule in place before it counts;
 * those runs are kept in `sound`.
 */
async function judge(
  mutation: Mutation,
  run: MutationRun & { readonly sound: Map<string, boolean> },
): Promise<Verdict> {
  const { providers, scenarios, say } = run;
  let runs = 0;
  for (const scenario of scenarios.filter((each) => mutation.scenarios.includes(each.id))) {
    for (const provider of providers.filter((each) => fits(each, { mutation, scenario }))) {
      if (!(await isSound(run, { scenario, provider }))) continue;
      runs += 1;
      const result = await runOnce(run, { scenario, provider, mutation: mutation.name });
      say(`   ${result.ok ? 'not noticed' : `noticed: ${firstOf(result)}`}`);
      if (!result.ok) return { mutation, noticed: result, runs };
    }
  }
  return { mutation, noticed: null, runs };
}

interface Place {
  readonly scenario: Scenario;
  readonly provider: TestProvider;
  readonly mutation?: string;
}

async function isSound(
  run: MutationRun & { readonly sound: Map<string, boolean> },
  place: Place,
): Promise<boolean> {
  const key = `${place.scenario.id} on ${place.provider}`;
  const known = run.sound.get(key);
  if (known !== undefined) return known;
  const result = await runOnce(run, place);
  run.sound.set(key, result.ok);
  if (!result.ok)
    run.say(`   ${key} is red with every rule in place, so it counts for nothing: ${firstOf(result)}`);
  return result.ok;
}

function runOnce({ wish, say }: MutationRun, { scenario, provider, mutation }: Place): Promise<RunResult> {
  say(
    `-- ${scenario.id} on ${provider}, ${mutation === undefined ? 'every rule in place' : `without ${mutation}`}`,
  );
  const { seed, size, minutes, keep } = wish;
  return runScenario({
    ...{ scenario, provider, seed, size, minutes, keep, mutation },
    say: (text) => say(`   ${text}`),
  });
}

interface Pair {
  readonly mutation: Mutation;
  readonly scenario: Scenario;
}

function fits(provider: TestProvider, { mutation, scenario }: Pair): boolean {
  return scenario.databases.includes(provider) && (mutation.databases?.includes(provider) ?? true);
}

function firstOf({ violations }: RunResult): string {
  const [first] = violations;
  return first ? `${first.invariant}: ${first.text.split('\n')[0]?.slice(0, 160)}` : '';
}

function verdictsTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ mutation, noticed, runs }) => {
    const where = noticed ? `${noticed.id} on ${noticed.database}` : `not noticed in ${runs} runs`;
    return `| \`${mutation.name}\` | ${mutation.description} | ${where} | ${noticed ? firstOf(noticed) : ''} |`;
  });
  return ['| removed | what that is | noticed by | first violation |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function verdictsJson(verdicts: readonly Verdict[], seed: number): string {
  return JSON.stringify({
    ok: verdicts.length > 0 && verdicts.every(({ noticed }) => noticed !== null),
    seed,
    mutations: verdicts.map(({ mutation, noticed }) => ({
      name: mutation.name,
      noticedBy: noticed && { id: noticed.id, database: noticed.database, violations: noticed.violations },
    })),
  });
}
