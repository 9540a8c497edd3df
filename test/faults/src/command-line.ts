import { Command, InvalidArgumentError, Option } from 'commander';
import type { TestProvider } from '@a2a-cluster/testing';
import type { Size } from './world/settings.js';

/** What the command is asked to do. */
export interface Wish {
  /** Ids of scenarios; empty: all that do not have to be named. */
  readonly ids: readonly string[];
  /** Undefined: every database that answers. */
  readonly database: TestProvider | undefined;
  readonly seed: number;
  /** How often each is run; each run has the seed after that of the run before. */
  readonly runs: number;
  readonly size: Size;
  readonly minutes: number;
  readonly json: boolean;
  readonly markdown: boolean;
  readonly list: boolean;
  readonly mutations: boolean;
  readonly keep: boolean;
  /** A history to be judged again, instead of a run. */
  readonly check: string | undefined;
}

const DATABASES: readonly TestProvider[] = ['sqlite', 'postgresql', 'mysql'];
const MAX_SEED = 0xffff_ffff;

const EXAMPLES = `
Examples:
  npm run faults                               every scenario on every database that answers
  npm run faults -- R1 R8 --database mysql     two of them, on MySQL or MariaDB
  npm run faults -- --quick                    the short set of every build
  npm run faults -- R31 --minutes 20           the soak
  npm run faults -- --mutations                removes one rule after the other; each must be noticed
  npm run faults -- --check FILE               judges a history that a failed run has left`;

/** Reads the arguments. Ends the process after \`--help\` and after wrong arguments, with a sentence that says why. */
export function readCommandLine(args: readonly string[]): Wish {
  const command = new Command('faults')
    .description(
      'Breaks a running cluster on purpose, on real processes and databases, and judges what happened.',
    )
    .argument('[scenarios...]', 'ids such as R1 R2b; default: all but those that take minutes')
    .addOption(new Option('--database <name>', 'one database instead of all that answer').choices(DATABASES))
    .option('--seed <number>', 'repeats the choices of an earlier run', wholeNumber(0, MAX_SEED))
    .option('--runs <number>', 'runs each so often, with one seed after the other', wholeNumber(1, 1000), 1)
    .option('--quick', 'the quick set: less load, shorter leases')
    .option(
      '--minutes <number>',
      'how long the soak R31 lasts, and R6 at most (5)',
      wholeNumber(1, 10_000),
      20,
    )
    .option('--mutations', 'removes one rule of the protocol after the other and wants a scenario to notice')
    .option('--check <file>', 'judges the history in a file again')
    .option('--keep', 'keeps the history of every run, not only of those that failed')
    .option('--list', 'names the scenarios')
    .option('--markdown', 'a table of all runs on standard output')
    .option('--json', 'one JSON object on standard output')
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError()
    .parse(args, { from: 'user' });
  const given = command.opts<Partial<Wish> & { readonly quick?: boolean }>();
  return {
    ids: command.args.map(normalId),
    database: given.database,
    seed: given.seed ?? Math.floor(Math.random() * MAX_SEED),
    runs: given.runs ?? 1,
    size: given.quick ? 'quick' : 'full',
    minutes: given.minutes ?? 20,
    json: given.json ?? false,
    markdown: given.markdown ?? false,
    list: given.list ?? false,
    mutations: given.mutations ?? false,
    keep: given.keep ?? false,
    check: given.check,
  };
}

/** `r2B` means `R2b`. */
function normalId(text: string): string {
  return text.toUpperCase().replace(/B$/, 'b');
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
