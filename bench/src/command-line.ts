import { Command, InvalidArgumentError } from 'commander';
import type { TestProvider } from '@a2a-cluster/testing';

/** What the command is asked to do. */
export interface Wish {
  /** Ids of benchmarks; empty: all that do not have to be named. */
  readonly ids: readonly string[];
  /** Empty: all that answer. */
  readonly databases: readonly TestProvider[];
  readonly quick: boolean;
  readonly minutes: number | undefined;
  readonly json: boolean;
  /** A Markdown file between whose marks the table goes. */
  readonly write: string | undefined;
  readonly profile: string | undefined;
  readonly list: boolean;
}

const DATABASES: readonly TestProvider[] = ['sqlite', 'postgresql', 'mysql'];

const EXAMPLES = `
Examples:
  npm run bench                                every benchmark that takes less than a few minutes
  npm run bench -- B1 B4 --database postgresql two of them
  npm run bench -- --quick                     small sizes: shows that they run, measures nothing worth telling
  npm run bench -- B8                          1 M tasks and 5 M events; takes minutes and some GB
  npm run bench -- B1 --profile .data/profile  CPU profiles, for the profiler of a browser
  npm run bench -- --write docs/benchmarks.md  puts the table into the page

A bar that is missed makes the exit code 1. Absolute times mean little on a shared machine: read the ratios.`;

/** Reads the arguments. Ends the process after \`--help\` and after wrong arguments, with a sentence that says why. */
export function readCommandLine(args: readonly string[]): Wish {
  const command = new Command('bench')
    .description(
      'Measures the cluster beside bare drivers, the SDK, polling and job queues, in the same run.',
    )
    .argument(
      '[benchmarks...]',
      'ids such as B1 B6; B1 also means B1a, B1b ..; default: all but the long ones',
    )
    .option('--database <name>', 'one database instead of all that answer; may be said again', database)
    .option('--quick', 'small sizes')
    .option('--minutes <number>', 'how long the long ones last', positive)
    .option('--profile <folder>', 'writes CPU profiles there')
    .option('--write <file>', 'puts the table into this Markdown page')
    .option('--json', 'one JSON object on standard output instead of the table')
    .option('--list', 'names the benchmarks')
    .addHelpText('after', EXAMPLES)
    .parse([...args], { from: 'user' });
  const options = command.opts<Partial<Wish> & { readonly database?: readonly TestProvider[] }>();
  return {
    ids: command.args,
    databases: options.database ?? [],
    quick: options.quick ?? false,
    minutes: options.minutes,
    json: options.json ?? false,
    write: options.write,
    profile: options.profile,
    list: options.list ?? false,
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a number above 0.');
}

function database(text: string, before: readonly TestProvider[] = []): readonly TestProvider[] {
  const name = DATABASES.find((known) => known === text);
  if (name !== undefined) return [...before, name];
  throw new InvalidArgumentError(`It must be one of ${DATABASES.join(', ')}.`);
}
