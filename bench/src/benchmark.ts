import type { TestProvider } from '@a2a-cluster/testing';
import type { Spread } from './harness/statistics.js';

/** A limit that a figure has to keep. */
export interface Bar {
  readonly op: '<=' | '>=';
  readonly limit: number;
}

/** One result. A benchmark gives one or more. */
export interface Figure {
  /** What was measured, as a sentence without a verb: `commit of one event / bare pg, p50`. */
  readonly figure: string;
  /** What the value counts: `ratio`, `ms`, `statements`, `MiB`, `events/s` .. */
  readonly unit: string;
  readonly value: number;
  /** Null: told for its own sake. */
  readonly bar: Bar | null;
  /** What it is compared with, and how that did in the same run. */
  readonly baseline: string;
  /** Of the rounds or samples that `value` is the median of; null where it was counted. */
  readonly spread: Spread | null;
  /** What explains the value: statements, absolute times, sizes. */
  readonly detail?: Readonly<Record<string, number | string>>;
}

/** What a benchmark runs with. */
export interface BenchContext {
  readonly database: TestProvider;
  /** Small sizes: shows that it works, measures nothing worth telling. */
  readonly quick: boolean;
  /** Set by `--minutes`: how long long things last. */
  readonly minutes: number | undefined;
  /** Where CPU profiles go; null: none are taken. Hand it to every server that is started. */
  readonly profileFolder: string | null;
  /** A migrated database of its own, dropped when the benchmark ends. */
  freshDatabase(options?: { readonly migrated?: boolean }): Promise<string>;
  /** Runs when the benchmark ends, however it ends; the last added first. */
  cleanUp(work: () => Promise<void> | void): void;
  /** How far it is, for people. */
  say(text: string): void;
}

/** A named benchmark; `B1` to `B10` are those of the plan, their parts have a letter. */
export interface Benchmark {
  readonly id: string;
  readonly title: string;
  readonly databases: readonly TestProvider[];
  /** True: takes long or much disk, so it runs only where it is named. */
  readonly onDemand?: boolean;
  run(context: BenchContext): Promise<readonly Figure[]>;
}

/** Whether a figure keeps its bar. One without a bar does. */
export function keepsBar({ value, bar }: Pick<Figure, 'value' | 'bar'>): boolean {
  if (bar === null) return true;
  return bar.op === '<=' ? value <= bar.limit : value >= bar.limit;
}
