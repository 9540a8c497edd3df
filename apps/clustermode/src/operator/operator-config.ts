/** Where the routes of the operator are, and who may use them. */
export interface OperatorConfig {
  /** A listener of their own; undefined: they are on the main one. 0: a free port. */
  readonly port: number | undefined;
  /** The address that `port` listens on. */
  readonly host: string;
  /** Undefined: none is wanted. */
  readonly token: string | undefined;
  /** The one that acting in the console wants; undefined: `token` is enough. */
  readonly consoleToken?: string | undefined;
}
