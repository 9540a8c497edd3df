/** One line of a table: a value per column. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** Options of {@link printRows}. */
export interface PrintOptions {
  readonly rows: readonly Row[];
  /** One JSON array in place of the table. */
  readonly json: boolean;
  /** What is said in place of an empty table. */
  readonly none: string;
}

/** Prints rows to standard output. */
export function printRows({ rows, json, none }: PrintOptions): void {
  const text = json ? JSON.stringify(rows) : rows.length === 0 ? none : table(rows);
  process.stdout.write(`${text}\n`);
}

/** Rows as text in columns, headed by their names; control characters are shown, not obeyed. */
export function table(rows: readonly Row[]): string {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => printable(row[name] ?? '-')))];
  const widths = names.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function printable(value: string | number | boolean): string {
  return String(value).replace(
    /\p{C}/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );
}
