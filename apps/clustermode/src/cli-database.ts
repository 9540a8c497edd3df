import { InvalidArgumentError, type Command } from 'commander';
import type { StateName } from '@a2a-cluster/core';
import type { FindTasks } from '@a2a-cluster/db';
import { wholeNumber, withConfig, type Options, type Parts } from './cli-support.js';
import type { ListCommandOptions } from './commands/database.js';
import { leases, releaseLease } from './commands/leases.js';
import { pauseReplica, replicas } from './commands/replicas.js';
import { cancelTask, showTask } from './commands/task.js';
import { tasks } from './commands/tasks.js';
import type { Config } from './config.js';
import { flagOf, settings } from './settings.js';
import { STATE_NAMES } from './state-names.js';

const DEFAULT_EVERY_S = 2;
const UNIT_MS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 },
};

/** The commands that ask the database, and act on what is in it. */
export function addDatabaseCommands(parts: Parts): void {
  addLeases(parts);
  addTasks(parts);
  addReplicas(parts);
}

function addLeases(parts: Parts): void {
  const command = list(parts.program.command('leases'))
    .description('turns that run now, and those whose replica is gone')
    .action(run(parts, (options) => leases(listOptions(options))));
  common(command.command('release <taskId>'))
    .description('expire a lease now and give the sweeper’s verdict on it')
    .action(run(parts, (options, taskId) => releaseLease({ ...base(options), taskId })));
}

function addTasks(parts: Parts): void {
  const command = list(parts.program.command('tasks'))
    .description('tasks of every owner, the youngest first')
    .option('--state <state>', 'in this state, such as working; may be repeated', states, [])
    .option('--owner <owner>', 'of this owner')
    .option('--tenant <tenant>', 'in this tenant')
    .option('--holder <replica>', 'run by this replica')
    .option('--context <contextId>', 'of this context')
    .option('--older-than <time>', 'created longer ago than this, such as 90s, 5m, 2h, 1d', duration)
    .option('--younger-than <time>', 'created within this time', duration)
    .action(run(parts, (options) => tasks({ ...listOptions(options), find: findOf(options) })));
  common(command.command('show <taskId>'))
    .description('one task: its state, its lease, its webhooks, and its last events')
    .option('--events <n>', 'most events', wholeNumber(1, 10_000), 20)
    .action(
      run(parts, (options, taskId) =>
        showTask({ ...base(options), taskId, limit: options['events'] as number }),
      ),
    );
  common(command.command('cancel <taskId>'))
    .description('cancel as its owner would: who runs it is told and has the grace to end it')
    .action(run(parts, (options, taskId) => cancelTask({ ...base(options), taskId })));
}

function addReplicas(parts: Parts): void {
  const command = list(parts.program.command('replicas'))
    .description('replicas and what they do, as they said with their last heartbeat')
    .action(run(parts, (options) => replicas(listOptions(options))));
  common(command.command('drain <replica>'))
    .description('have it take no more turns; those that run go on')
    .option('--wait', 'wait until it runs no turn any more', false)
    .action(
      run(parts, (options, name) =>
        pauseReplica({ ...base(options), name, pause: true, wait: options['wait'] === true }),
      ),
    );
  common(command.command('resume <replica>'))
    .description('have it take turns again')
    .action(
      run(parts, (options, name) => pauseReplica({ ...base(options), name, pause: false, wait: false })),
    );
}

function common(command: Command): Command {
  return command
    .option(`${flagOf('DATABASE_URL')} <value>`, settings.DATABASE_URL.help)
    .option('--json', 'print JSON', false);
}

function list(command: Command): Command {
  return common(command)
    .option('--limit <n>', 'most rows', wholeNumber(1, 100_000), 100)
    .option('--watch [seconds]', `look again and again, every ${DEFAULT_EVERY_S} s, until Ctrl-C`, seconds);
}

type Told = Options & { readonly config: Config };

/** The action of a command: its options, those of the commands above it among them, and its argument. */
function run(
  { onExitCode }: Parts,
  work: (options: Told, argument: string) => Promise<number>,
): (...words: unknown[]) => Promise<void> {
  return async (...words) => {
    const options = (words.at(-1) as Command).optsWithGlobals<Options>();
    const argument = typeof words[0] === 'string' ? words[0] : '';
    onExitCode(await withConfig(options, (config) => work({ ...options, config }, argument)));
  };
}

function base({ config, json }: Told): { readonly config: Config; readonly json: boolean } {
  return { config, json: json === true };
}

function listOptions(options: Told): ListCommandOptions {
  const { limit, watch } = options as { readonly limit?: number; readonly watch?: number | true };
  const everyMs = watch === undefined ? undefined : (watch === true ? DEFAULT_EVERY_S : watch) * 1_000;
  return { ...base(options), limit: limit ?? 100, everyMs };
}

function findOf(options: Options): Partial<FindTasks> {
  const { state, owner, tenant, holder, context, olderThan, youngerThan } = options as {
    readonly state: readonly StateName[];
    readonly owner?: string;
    readonly tenant?: string;
    readonly holder?: string;
    readonly context?: string;
    readonly olderThan?: number;
    readonly youngerThan?: number;
  };
  return {
    ...(state.length === 0 ? {} : { states: state }),
    ...(owner === undefined ? {} : { owner }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(holder === undefined ? {} : { holder }),
    ...(context === undefined ? {} : { contextId: context }),
    ...(olderThan === undefined ? {} : { olderThanMs: olderThan }),
    ...(youngerThan === undefined ? {} : { youngerThanMs: youngerThan }),
  };
}

function states(text: string, before: readonly StateName[]): readonly StateName[] {
  const named = text.split(',').map((word) => {
    const name = `TASK_STATE_${word.trim().toUpperCase().replaceAll('-', '_').replace(/^TASK_STATE_/, '')}`;
    if (STATE_NAMES.includes(name)) return name;
    const known = STATE_NAMES.map((state) => state.replace('TASK_STATE_', '').toLowerCase()).join(', ');
    throw new InvalidArgumentError(`There is no state ${JSON.stringify(word)}; the states are ${known}.`);
  });
  return [...new Set([...before, ...named])];
}

function duration(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,9})(ms|s|m|min|h|d)$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (digits === undefined || unitMs === undefined)
    throw new InvalidArgumentError('It must be a time such as 500ms, 90s, 5m, 2h or 1d.');
  return Number(digits) * unitMs;
}

function seconds(text: string): number {
  const value = Number(text);
  if (/^\d{1,5}(\.\d{1,3})?$/.test(text) && value >= 0.1 && value <= 86_400) return value;
  throw new InvalidArgumentError('It must be a number of seconds from 0.1 to 86400.');
}
