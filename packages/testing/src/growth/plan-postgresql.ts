import type { Plan, PlanStep } from './plan-shape.js';

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly Node[];
}

/** Reads `EXPLAIN (FORMAT JSON)`. */
export function postgresPlan(rows: readonly Record<string, unknown>[]): Plan {
  const [{ Plan: root }] = rows[0]?.['QUERY PLAN'] as [{ Plan: Node }];
  const nodes = withAllBelow(root);
  return {
    steps: nodes.flatMap(stepOf),
    sorts: nodes.filter((node) => /Sort$/.test(node['Node Type'])).map((node) => node['Plan Rows']),
  };
}

function withAllBelow(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(withAllBelow)];
}

function stepOf(node: Node): PlanStep[] {
  const table = node['Relation Name'];
  const type = node['Node Type'];
  if (table === undefined || !/Scan$/.test(type)) return [];
  // A bitmap is made by the index scans below the node that reads the table.
  const entries = type === 'Bitmap Heap Scan' ? withAllBelow(node).slice(1) : [node];
  return entries
    .filter((entry) => entry === node || entry['Index Name'] !== undefined)
    .map((entry) => ({
      table,
      index: entry['Index Name'] ?? null,
      columns: columnsOf(entry['Index Cond'] ?? ''),
      covering: type === 'Index Only Scan',
    }));
}

/** `((tenant = 'a'::text) AND (ROW(at, id) < ROW('b'::text, 'c'::text)))`: the columns stand on the left. */
function columnsOf(condition: string): string[] {
  const bare = condition.replace(/'(?:[^']|'')*'/g, '');
  const found = [...bare.matchAll(/\(("?\w+"?) (?:=|<=?|>=?|IS)/g)].map(([, name = '']) => name);
  const rows = [...bare.matchAll(/\(ROW\(([\w", ]+)\) </g)].flatMap(([, names = '']) => names.split(', '));
  return [...new Set([...found, ...rows])];
}
