/** One table that a statement reads. */
export interface PlanStep {
  readonly table: string;
  /** Null: the table is read from end to end. */
  readonly index: string | null;
  /** The columns by which the index is entered; none: the index is read from end to end. */
  readonly columns: readonly string[];
  /** The index alone answers; the table's rows are not read. */
  readonly covering: boolean;
}

/** How a database means to run a statement. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  /** Each sort, with the rows the planner expects in it where it tells; null where it does not. */
  readonly sorts: readonly (number | null)[];
}
