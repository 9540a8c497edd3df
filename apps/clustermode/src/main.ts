import { isClusterError } from '@a2a-cluster/core';
import { createProgram } from './cli.js';
import { EXIT_FAILED, StartFault, exitCodeOf } from './exit-code.js';
import { withoutSecrets } from './log.js';

/** Runs one command of the command line and ends the process with its exit code. */
export async function runCommand(words: readonly string[]): Promise<never> {
  let exitCode = EXIT_FAILED;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    exitCode = exitCodeOf(error);
    process.stderr.write(`clustermode: ${withoutSecrets(textOf(error))}\n`);
  }
  await flushed(process.stdout);
  process.exit(exitCode);
}

/** What people read: the message of an error that was written for them, all there is of any other. */
function textOf(error: unknown): string {
  if (isClusterError(error) || error instanceof StartFault) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A pipe takes its last lines only while the process lives. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()));
}
