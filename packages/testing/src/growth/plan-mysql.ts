import { tableOfAlias } from './aliases.js';
import type { Plan, PlanStep } from './plan-shape.js';

interface TableNode {
  readonly table_name: string;
  readonly access_type?: string;
  readonly key?: string;
  readonly used_key_parts?: readonly string[];
  readonly using_index?: boolean;
}

/** Reads `EXPLAIN FORMAT=JSON`: MariaDB and MySQL nest differently, but name tables and sorts alike. */
export function mysqlPlan(rows: readonly Record<string, unknown>[], sql: string): Plan {
  const tableOf = tableOfAlias(sql);
  const text = rows[0]?.['EXPLAIN'];
  const found = collect(typeof text === 'string' ? JSON.parse(text) : text);
  return {
    steps: found.tables.flatMap((node) => stepOf(node, tableOf)),
    sorts: Array.from({ length: found.sorts }, () => null),
  };
}

interface Found {
  readonly tables: readonly TableNode[];
  readonly sorts: number;
}

function collect(node: unknown): Found {
  if (typeof node !== 'object' || node === null) return { tables: [], sorts: 0 };
  const below = Object.values(node).map(collect);
  const own = 'table_name' in node ? [node as TableNode] : [];
  const sorts = 'filesort' in node || ('using_filesort' in node && node.using_filesort === true) ? 1 : 0;
  return {
    tables: [...own, ...below.flatMap(({ tables }) => tables)],
    sorts: below.reduce((sum, { sorts: more }) => sum + more, sorts),
  };
}

function stepOf(node: TableNode, tableOf: (alias: string) => string | undefined): PlanStep[] {
  const table = tableOf(node.table_name);
  // A row to be inserted is told as a table without an access, or as one read whole, which it is not.
  if (table === undefined || node.access_type === undefined) return [];
  const whole = node.access_type === 'ALL' || node.access_type === 'index';
  return [
    {
      table,
      index: node.key ?? null,
      columns: whole ? [] : [...(node.used_key_parts ?? [])],
      covering: node.using_index === true,
    },
  ];
}
