/** One SQL statement: one round trip, one commit. */
export interface Statement {
  /** For logs and errors. */
  readonly name: string;
  readonly text: string;
  /** Whether it may change something: decides what a lost answer means. */
  readonly writes: boolean;
  /** Not prepared: its text is made for each call, and its plan for the values that come with it. */
  readonly once?: boolean;
}
