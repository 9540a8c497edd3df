/**
 * What is left of the grace of a cancelled turn (protocol 8), in milliseconds from 0 to `graceMs`. The age of the mark
 * comes from the database's clock, which may have stepped since the mark was made: a step back must not prolong the
 * grace by its length.
 */
export function cancelGraceLeftMs(options: {
  readonly graceMs: number;
  /** How long ago the cancel was asked for, by the database's clock; negative after a step back. */
  readonly cancelAgeMs: number;
}): number {
  const { graceMs, cancelAgeMs } = options;
  return Math.min(graceMs, Math.max(0, graceMs - cancelAgeMs));
}
