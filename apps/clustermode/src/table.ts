import { styleText } from 'node:util';

/** One line of a table: a value per column. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** The colour of a cell, as `styleText` names them; undefined: none. */
export type Colour = 'red' | 'yellow' | 'green' | 'cyan' | 'gray';

/** Chooses the colour of a cell by its column and its value. */
export type Paint = (column: string, value: string) => Colour | undefined;

/** Options of {@link printRows}. */
export interface PrintOptions {
  readonly rows: readonly Row[];
  /** The rows as people read them, for the table; default: `rows`. */
  readonly shown?: readonly Row[];
  /** One JSON array in place of the table. */
  readonly json: boolean;
  /** What is said in place of an empty table. */
  readonly none: string;
  readonly paint?: Paint;
}

/** Prints rows to standard output. */
export function printRows(options: PrintOptions): void {
  process.stdout.write(`${textOfRows(options)}\n`);
}

/** Rows as {@link printRows} prints them. */
export function textOfRows({ rows, shown = rows, json, none, paint }: PrintOptions): string {
  if (json) return JSON.stringify(rows);
  return shown.length === 0 ? none : table(shown, paint);
}

/**
 * Rows as text in columns, headed by their names; control characters are shown, not obeyed. Colours come on a terminal
 * only, and not where `NO_COLOR` is set.
 */
export function table(rows: readonly Row[], paint: Paint = () => undefined): string {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => printable(row[name] ?? '-')))];
  const widths = names.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)));
  const lines = cells.map((line, at) =>
    line.map((cell, column) => ({
      cell,
      gap: ' '.repeat((widths[column] ?? 0) - cell.length),
      colour: at === 0 ? undefined : paint(names[column] ?? '', cell),
    })),
  );
  return lines
    .map((line) =>
      line
        .map(({ cell, gap, colour }, at) => coloured(cell, colour) + (at === line.length - 1 ? '' : gap))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function coloured(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text : styleText(colour, text, { stream: process.stdout, validateStream: true });
}

function printable(value: string | number | boolean): string {
  return String(value).replace(
    /\p{C}/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );
}
