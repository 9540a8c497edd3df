import type { Violation } from './history/history.js';
import type { RunResult } from './run-scenario.js';

/** Violations told in full; the rest is counted, and stands in the file. */
const SHOWN_VIOLATIONS = 20;
const SHOWN_LINES = 120;

/** One line that says how a scenario went, and what it found. */
export function resultText(result: RunResult): string {
  const { id, database, ok, ms, title, seed, figures, violations, file } = result;
  const figureText = Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
  const head = `${ok ? 'ok  ' : 'FAIL'} ${id.padEnd(4)} ${database.padEnd(10)} ${(ms / 1000).toFixed(1)} s  ${title}`;
  const lines = [head, `       seed ${seed}${figureText ? `; ${figureText}` : ''}`];
  lines.push(...violations.slice(0, SHOWN_VIOLATIONS).map(violationText));
  if (violations.length > SHOWN_VIOLATIONS)
    lines.push(`       and ${violations.length - SHOWN_VIOLATIONS} more`);
  for (const [taskId, merged] of Object.entries(result.merged)) {
    lines.push(`       task ${taskId}:`, ...shortened(merged).map((line) => `         ${line}`));
  }
  if (file) lines.push(`       history: ${file} (judge it again: npm run faults -- --check ${file})`);
  return lines.join('\n');
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= SHOWN_LINES) return lines;
  const half = SHOWN_LINES / 2;
  return [...lines.slice(0, half), `... ${lines.length - SHOWN_LINES} lines ...`, ...lines.slice(-half)];
}

/** One broken promise in a line. */
export function violationText({ invariant, text, taskId }: Violation): string {
  return `       ${invariant}: ${text}${taskId ? ` (task ${taskId})` : ''}`;
}

/** What `--json` prints. */
export function resultsJson(results: readonly RunResult[], seed: number): string {
  const ok = results.length > 0 && results.every((result) => result.ok);
  return JSON.stringify({
    ok,
    seed,
    scenarios: results.map(({ id, database, ok: good, figures, violations, seed: own, ms, file }) => ({
      ...{ id, database, ok: good, figures, violations },
      ...{ seed: own, ms, history: file },
    })),
  });
}

/** A Markdown table for the documentation: a line for each scenario and database, over all of its runs. */
export function resultsTable(results: readonly RunResult[]): string {
  const groups = new Map<string, RunResult[]>();
  for (const result of results) {
    const key = `${result.id} ${result.database}`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const head = '| id | what is broken | database | green | seconds | figures |';
  return [head, '|---|---|---|---|---|---|', ...[...groups.values()].map(groupRow)].join('\n');
}

function groupRow(runs: readonly RunResult[]): string {
  const [first] = runs;
  if (first === undefined) return '';
  const green = `${runs.filter((run) => run.ok).length} of ${runs.length}`;
  const seconds = spread(runs.map((run) => Math.round(run.ms / 1000)));
  const names = new Set(runs.flatMap((run) => Object.keys(run.figures)));
  const figures = [...names].map(
    (name) => `${name} ${spread(runs.flatMap((run) => run.figures[name] ?? []))}`,
  );
  return `| ${[first.id, first.title, first.database, green, seconds, figures.join('; ')].join(' | ')} |`;
}

/** One value, or the least and the greatest of several; words as they are. */
function spread(values: readonly (number | string)[]): string {
  const numbers = values.filter((value) => typeof value === 'number');
  if (numbers.length < values.length) return [...new Set(values)].join(' / ');
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? String(least) : `${least} to ${most}`;
}
