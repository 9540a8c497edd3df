import { errorText, type Logger } from '@a2a-cluster/core';

/** Calls code of somebody else, which may throw or reject; neither must stop the heartbeat. */
export function callSafely(logger: Logger, callback: () => unknown): void {
  const failed = (error: unknown): void =>
    logger.error({ error: errorText(error) }, 'a heartbeat callback failed');
  try {
    const result = callback();
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}
