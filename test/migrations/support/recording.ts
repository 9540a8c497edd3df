import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot, type TestProvider } from '@a2a-cluster/testing';

/**
 * How a statement ended: so many rows came or were changed (null: not told), of several statements one after the
 * other, or an error.
 */
export type CallOutcome = number | null | readonly CallOutcome[] | { readonly error: string };

/** Connection, number of the statement, values, outcome, and the time since the call before where that was long. */
export type Call = readonly [
  connection: number,
  statement: number,
  values: readonly unknown[],
  outcome: CallOutcome,
  waitedMs?: number,
];

/** What a released version sent to a database of one provider, in order. Written by `scripts/record-release.mjs`. */
export interface Recording {
  /** Its migrations, the last one last. */
  readonly migrations: readonly string[];
  /** `{database}` stands for the name of the database. */
  readonly statements: readonly string[];
  /** What makes a connection ready, by connection. */
  readonly sessions: Readonly<Record<string, readonly Call[]>>;
  readonly tests: readonly { readonly name: string; readonly calls: readonly Call[] }[];
}

const folder = path.join(workspaceRoot, 'test/migrations/releases');

/** The releases there are recordings of, the oldest first. */
export const releases: readonly string[] = existsSync(folder) ? readdirSync(folder).sort() : [];

/** The recording of a release. */
export function recordingOf(release: string, provider: TestProvider): Recording {
  return JSON.parse(readFileSync(path.join(folder, release, `${provider}.json`), 'utf8')) as Recording;
}
