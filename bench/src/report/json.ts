import type { TestProvider } from '@a2a-cluster/testing';
import { keepsBar, type Figure } from '../benchmark.js';

/** A figure of a run: which benchmark it is of, and on which database. */
export interface Result extends Figure {
  /** Id of the benchmark. */
  readonly name: string;
  readonly database: TestProvider;
}

/** A benchmark that could not be run to its end. */
export interface Failure {
  readonly name: string;
  readonly database: TestProvider;
  readonly error: string;
}

/** What a run came to. */
export interface Report {
  readonly results: readonly Result[];
  readonly failures: readonly Failure[];
  /** Small sizes: the bars are told, and not judged. */
  readonly quick: boolean;
}

/** Whether every benchmark ran and every bar was kept. */
export function isOk({ results, failures, quick }: Report): boolean {
  return failures.length === 0 && (quick || results.every(keepsBar));
}

/** The report as `bench --json` prints it. */
export function toJson(report: Report): object {
  return {
    ok: isOk(report),
    quick: report.quick,
    results: report.results.map((result) => ({
      name: result.name,
      database: result.database,
      figure: result.figure,
      unit: result.unit,
      value: rounded(result.value),
      bar: result.bar === null ? null : `${result.bar.op} ${result.bar.limit}`,
      ok: keepsBar(result),
      baseline: result.baseline,
      spread: result.spread,
      detail: result.detail ?? {},
    })),
    failures: report.failures,
  };
}

/** Three significant digits: more would claim to know better than the machine does. */
export function rounded(value: number): number {
  if (Number.isInteger(value) || !Number.isFinite(value)) return value;
  return Number(value.toPrecision(3));
}
