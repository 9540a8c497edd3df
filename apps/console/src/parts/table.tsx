import type { ComponentChildren } from 'preact';

/** A column: its heading and what stands in it. */
export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly numeric?: boolean;
  /** The heading is for screen readers only. */
  readonly plain?: boolean;
}

/** A table that becomes one card a row where it is narrow. The first column names the row. */
export function Table<T>(props: {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Looks different: what is not as it should be. */
  readonly marked?: (row: T) => boolean;
}) {
  const { caption, columns, rows, keyOf, marked } = props;
  // The roles are those these elements have anyway; browsers drop them where the style makes cards of the rows.
  return (
    <table class="table" role="table">
      <caption class="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.title} scope="col" role="columnheader" class={column.numeric ? 'num' : undefined}>
              <span class={column.plain ? 'sr-only' : undefined}>{column.title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" class={marked?.(row) ? 'marked' : undefined}>
            {columns.map((column, index) => (
              <Cell key={column.title} column={column} row={row} head={index === 0} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell<T>(props: { readonly column: Column<T>; readonly row: T; readonly head: boolean }) {
  const { column, row, head } = props;
  const content = (
    <>
      <span class="cell-title" aria-hidden="true">
        {column.plain ? '' : column.title}
      </span>
      <span class="cell-value">{column.cell(row)}</span>
    </>
  );
  const look = column.numeric ? 'num' : undefined;
  return head ? (
    <th scope="row" role="rowheader" class={look}>
      {content}
    </th>
  ) : (
    <td role="cell" class={look}>
      {content}
    </td>
  );
}
