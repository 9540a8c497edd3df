import { Command, Option } from 'commander';
import { addDatabaseCommands } from './cli-database.js';
import { flagsOf, wholeNumber, withConfig, type OnExitCode, type Options, type Parts } from './cli-support.js';
import { deadLetters, pushes, retryPushes } from './commands/push.js';
import { crash, exercise } from './commands/scenarios.js';
import { serve } from './commands/serve.js';
import { up } from './commands/up.js';
import type { Config } from './config.js';
import { flagOf, settingNames, settings, type SettingName } from './settings.js';

/** The library's own default, which the replicas run with when nobody sets another. */
const DEFAULT_TTL_MS = 15_000;

/** The command line: every command, its flags and its help. Parsing it runs the command. */
export function createProgram(onExitCode: OnExitCode): Command {
  const program = new Command('clustermode')
    .description('An A2A server that runs as several replicas over one database.')
    .showHelpAfterError();
  const parts: Parts = { program, onExitCode };
  addServe(parts);
  addUp(parts);
  addScenarios(parts);
  addDatabaseCommands(parts);
  addPushCommands(parts);
  return program;
}

function addServe({ program, onExitCode }: Parts): void {
  withSettings(program.command('serve').description('run one replica'))
    .option('--migrate', 'deploy missing migrations first', false)
    .action(async (options: Options) => {
      const migrate = options['migrate'] === true;
      onExitCode(await withConfig(options, (config) => serve({ config, migrate })));
    });
}

function addUp({ program, onExitCode }: Parts): void {
  const command = program.command('up').description('run several replicas as processes on one database');
  withSettings(command, ['PORT'])
    .option('--replicas <n>', 'how many', wholeNumber(1, 100), 3)
    .option('--base-port <port>', 'port of the first; the others follow', wholeNumber(1, 65_435), 41_241)
    .option('--migrate', 'deploy missing migrations first', false)
    .action(async (options: Options) => {
      const plan = {
        flags: flagsOf(options),
        migrate: options['migrate'] === true,
        replicas: options['replicas'] as number,
        basePort: options['basePort'] as number,
      };
      onExitCode(await withConfig(options, (config) => up({ ...plan, config })));
    });
}

function addScenarios({ program, onExitCode }: Parts): void {
  const ports = new Option('--ports <list>', 'ports of running replicas, comma separated')
    .argParser(portList)
    .default([41_241, 41_242, 41_243], '41241,41242,41243');
  const add = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .addOption(ports)
      .option('--host <host>', 'where they listen', '127.0.0.1')
      .option('--token <token>', 'a Bearer token, where they want one')
      .option('--json', 'print one JSON object', false);
  const read = (options: Options): Parameters<typeof exercise>[0] => ({
    urls: (options['ports'] as number[]).map((port) => `http://${String(options['host'])}:${port}`),
    json: options['json'] === true,
    token: options['token'] as string | undefined,
  });
  add('exercise', 'start on one replica, watch on another, cancel on a third, follow up').action(
    async (options: Options) => onExitCode(await exercise(read(options))),
  );
  const ttl = settings.LEASE_TTL_MS;
  add('crash', 'kill -9 the replica that holds a task, on this machine, and watch the others')
    .option(`${flagOf('LEASE_TTL_MS')} <value>`, `the TTL they run with (default: ${ttl.unset})`)
    .action(async (options: Options) => {
      const run = (config: Config): Promise<number> =>
        crash({ ...read(options), ttlMs: config.leaseTtlMs ?? DEFAULT_TTL_MS });
      onExitCode(await withConfig(options, run));
    });
}

function addPushCommands({ program, onExitCode }: Parts): void {
  const common = (command: Command): Command =>
    command
      .option(`${flagOf('DATABASE_URL')} <value>`, settings.DATABASE_URL.help)
      .option('--json', 'print JSON', false);
  const list = (command: Command): Command =>
    common(command)
      .option('--task <taskId>', 'only those of this task')
      .option('--limit <n>', 'most rows', wholeNumber(1, 100_000), 100);
  const run = (work: typeof pushes) => async (_own: Options, command: Command) => {
    const options = command.optsWithGlobals<Options>();
    const { limit, task } = options as { readonly limit: number; readonly task?: string };
    const rest = { json: options['json'] === true, limit, taskId: task };
    onExitCode(await withConfig(options, (config) => work({ ...rest, config })));
  };
  const push = list(program.command('push'))
    .description('webhooks whose deliveries wait, are under way or disabled')
    .action(run(pushes));
  list(push.command('dead')).description('events that were given up').action(run(deadLetters));
  common(push.command('retry <taskId> [configId]'))
    .description('try again at once: what waits, what is disabled, what was given up')
    .action(async (...words: [string, string | undefined, Options, Command]) => {
      const [taskId, configId, , command] = words;
      const options = command.optsWithGlobals<Options>();
      const json = options['json'] === true;
      onExitCode(await withConfig(options, (config) => retryPushes({ config, json, taskId, configId })));
    });
}

function withSettings(command: Command, without: readonly SettingName[] = []): Command {
  for (const name of settingNames) {
    if (without.includes(name)) continue;
    const { help, unset } = settings[name];
    command.option(`${flagOf(name)} <value>`, `${name}: ${help} (default: ${unset})`);
  }
  return command;
}

function portList(text: string): number[] {
  return text.split(',').map((word) => wholeNumber(1, 65_535)(word.trim()));
}
