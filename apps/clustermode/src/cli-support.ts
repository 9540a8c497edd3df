import { InvalidArgumentError, type Command } from 'commander';
import { loadConfig, processEnvironment, type Config, type SettingTexts } from './config.js';
import { EXIT_CONFIG } from './exit-code.js';
import { settingNames } from './settings.js';

/** Takes the exit code of the command that ran. */
export type OnExitCode = (code: number) => void;

/** The options of a command, as they were read. */
export type Options = Readonly<Record<string, unknown>>;

/** What a part of the command line adds its commands to. */
export interface Parts {
  readonly program: Command;
  readonly onExitCode: OnExitCode;
}

/** The settings among the options of a command line, by the names of their variables. */
export function flagsOf(options: Options): SettingTexts {
  const texts: Record<string, string> = {};
  for (const name of settingNames) {
    const key = name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const value = options[key];
    if (typeof value === 'string') texts[name] = value;
  }
  return texts;
}

/** Runs the work with the configuration, or says all that is wrong with it; the exit code. */
export async function withConfig(options: Options, work: (config: Config) => Promise<number>): Promise<number> {
  const result = loadConfig({ env: processEnvironment(), flags: flagsOf(options) });
  return result.problems === undefined ? work(result.config) : refuse(result.problems);
}

function refuse(problems: readonly string[]): number {
  process.stderr.write(['clustermode cannot run with this configuration:', ...problems].join('\n  ') + '\n');
  return EXIT_CONFIG;
}

/** Reads a whole number between two. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

