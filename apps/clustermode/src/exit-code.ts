import { isClusterError } from '@a2a-cluster/core';

/** All went as asked. */
export const EXIT_OK = 0;
/** Something else went wrong. */
export const EXIT_FAILED = 1;
/** The configuration, or what it points to, has to be changed first (`EX_CONFIG` of sysexits). */
export const EXIT_CONFIG = 78;

const CONFIG_CODES: ReadonlySet<string> = new Set([
  'CONFIG_INVALID',
  'SCHEMA_BEHIND',
  'SCHEMA_FOREIGN',
  'DATABASE_UNSUITABLE',
]);

/** The exit code an error that kept a command from its work stands for. */
export function exitCodeOf(error: unknown): number {
  return isClusterError(error) && CONFIG_CODES.has(error.code) ? EXIT_CONFIG : EXIT_FAILED;
}

/** Something around the process keeps a command from its work; the message is for people. */
export class StartFault extends Error {
  override readonly name = 'StartFault';
}
