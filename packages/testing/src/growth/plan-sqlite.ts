import { tableOfAlias } from './aliases.js';
import type { Plan, PlanStep } from './plan-shape.js';

const LINE =
  /^(SEARCH|SCAN) (?:\w+\.)?(\w+)(?: USING (?:(COVERING) )?(?:INDEX (\w+)|INTEGER PRIMARY KEY))?(?: \((.*)\))?/;

/** Reads `EXPLAIN QUERY PLAN`. */
export function sqlitePlan(rows: readonly Record<string, unknown>[], sql: string): Plan {
  const tableOf = tableOfAlias(sql);
  const lines = rows.map((row) => String(row['detail']));
  return {
    steps: lines.flatMap((line) => stepOf(line, tableOf)),
    sorts: lines.filter((line) => line.startsWith('USE TEMP B-TREE FOR')).map(() => null),
  };
}

function stepOf(line: string, tableOf: (alias: string) => string | undefined): PlanStep[] {
  const [, , alias = '', covering, index = null, bounds = ''] = LINE.exec(line) ?? [];
  const table = tableOf(alias);
  if (table === undefined) return [];
  const columns = bounds.match(/[a-z_]+/g) ?? [];
  return [{ table, index, columns: [...new Set(columns)], covering: covering !== undefined }];
}
