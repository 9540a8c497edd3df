/** One SQL statement: one round trip, one commit. */
export interface Statement {
  /** For logs and errors. */
  readonly name: string;
  readonly text: string;
  /** Whether it may change something: decides what a lost answer means. */
  readonly writes: boolean;
}
