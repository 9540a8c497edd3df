import { mutationNamed, mutations as all, type Mutation } from '../../hooks/mutations.mjs';
import { parsePlan } from '../../hooks/plan.mjs';

export type { Mutation } from '../../hooks/mutations.mjs';

/** Every mutation: the protocol with one of its rules taken out, and the scenarios that should notice. */
export function mutations(): readonly Mutation[] {
  return all;
}

/** What a replica of the test build does wrong. */
export interface TestBuildOptions {
  /** The plan it starts with; see `hooks/README.md`. */
  readonly failpoints?: string;
  /** The name of a mutation. */
  readonly mutation?: string;
}

/** How a replica of the test build is started. */
export interface TestBuildArgs {
  /** Stand before the script. */
  readonly nodeArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A failpoint that did something. Sent before it does. */
export interface FailpointTrigger {
  /** Such as `journal.commit@after` or `hints.notify`. */
  readonly failpoint: string;
  readonly action: string;
  /** The first task of the statement, where it names one. */
  readonly taskId?: string;
  /** The statement that a failpoint of the driver was passed under. */
  readonly statement?: string;
  /** By the clock of the replica, which a scenario may have set wrong. */
  readonly atMs: number;
}

/** A rewrite of a built module. */
export interface RewriteReport {
  readonly rewrite: string;
  readonly module: string;
}

/** Which rewrites a replica runs with. Drivers of other databases are never loaded, and so not rewritten. */
export interface TestBuildReport {
  readonly mutation: string | null;
  readonly applied: readonly RewriteReport[];
  readonly notLoaded: readonly RewriteReport[];
}

/** What the parent says. The answer is `failpointsSet`. */
export interface ToReplica {
  /** The plan that replaces the one before it. */
  readonly failpoints: string;
}

/** What a replica of the test build says. */
export type FromReplica =
  | FailpointTrigger
  | { readonly failpointsSet: true }
  | { readonly failpointsSet: false; readonly error: string }
  | { readonly testBuild: TestBuildReport };

const REGISTER = new URL('../../hooks/register.mjs', import.meta.url).href;

/**
 * Arguments and environment of a replica with failpoints, and with a mutation if one is named. Give the process an
 * IPC channel (`stdio: [.., 'ipc']`) to hear of it and to change the plan.
 * @throws Error when the plan cannot be read or there is no such mutation.
 */
export function testBuildArgs(options: TestBuildOptions = {}): TestBuildArgs {
  const { failpoints, mutation } = options;
  if (failpoints !== undefined) parsePlan(failpoints);
  if (mutation !== undefined) mutationNamed(mutation);
  return {
    nodeArgs: ['--import', REGISTER],
    env: {
      ...(failpoints !== undefined && { FAULTS_FAILPOINTS: failpoints }),
      ...(mutation !== undefined && { FAULTS_MUTATION: mutation }),
    },
  };
}

/** The rewrites of the named mutation that this database should have loaded and the replica did not. */
export function missingRewrites(
  report: TestBuildReport,
  provider: Mutation['databases'][number],
): readonly RewriteReport[] {
  if (report.mutation === null) return [];
  const foreign = ['postgresql', 'mysql', 'sqlite'].filter((each) => each !== provider);
  const isForeign = (module: string): boolean => foreign.some((each) => module.includes(`/db/dist/${each}/`));
  const name = `mutation ${report.mutation}`;
  return report.notLoaded.filter(({ rewrite, module }) => rewrite === name && !isForeign(module));
}
