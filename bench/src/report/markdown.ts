import { keepsBar } from '../benchmark.js';
import { rounded, type Report, type Result } from './json.js';

/** Where the run took place. */
export interface Machine {
  readonly cores: number;
  readonly node: string;
  readonly servers: readonly string[];
  readonly date: string;
}

/** The results as a table, one row per figure. */
export function toMarkdown(report: Report, machine: Machine): string {
  const { cores, node, servers, date } = machine;
  const lines = [
    `Measured ${date} on ${cores} cores shared by load, servers and database, Node ${node}, ${servers.join(', ')}.`,
    '',
    '| | database | figure | value | bar | | spread (samples) | baseline | detail |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...report.results.map(row),
    ...report.failures.map(
      ({ name, database, error }) => `| ${name} | ${database} | ${cell(error)} | | | failed | | | |`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function row(result: Result): string {
  const { name, database, figure, unit, value, bar, baseline, spread } = result;
  const cells = [
    name,
    database,
    figure,
    unit === 'ratio' ? `${rounded(value)}` : `${rounded(value)} ${unit}`,
    bar === null ? '' : `${bar.op} ${bar.limit}`,
    bar === null ? '' : keepsBar(result) ? 'kept' : '**missed**',
    spread === null ? 'counted' : `${rounded(spread.min)} to ${rounded(spread.max)} (${spread.samples})`,
    baseline,
    detailOf(result),
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
}

function detailOf({ detail = {} }: Result): string {
  const parts = Object.entries(detail).map(
    ([name, value]) => `${name} ${typeof value === 'number' ? rounded(value) : value}`,
  );
  return parts.join(', ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
