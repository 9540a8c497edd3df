/**
 * Whether tests that need programs which may be missing can run here. For the top of a test file:
 * `(hasTools({ tests: 'a private PostgreSQL', missing }) ? describe : describe.skip)(...)`.
 * What is missing is told on standard error, in one line; with `REQUIRE_TOOLS=1` it is an error instead, so that a
 * build never passes by testing less.
 *
 * @throws Error with `REQUIRE_TOOLS=1` when something is missing.
 */
export function hasTools(options: {
  /** What is tested, for the line. */
  readonly tests: string;
  /** What is not there, or null. */
  readonly missing: string | null | undefined;
}): boolean {
  const { tests, missing } = options;
  if (missing === null || missing === undefined) return true;
  if (process.env['REQUIRE_TOOLS'] === '1') throw new Error(`${tests}: missing ${missing}`);
  process.stderr.write(`skipped: ${tests}, missing: ${missing}\n`);
  return false;
}
