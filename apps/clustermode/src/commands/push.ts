import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import { shownUrl } from '../shown-url.js';
import { printRows } from '../table.js';
import { withOperator, type DatabaseCommandOptions } from './database.js';

/** What the push commands are told. */
export interface PushCommandOptions extends DatabaseCommandOptions {
  /** Only this task's. */
  readonly taskId?: string | undefined;
}

/** Prints deliveries that wait, are under way or disabled; of one task all of its webhooks. No secrets. */
export function pushes(options: PushCommandOptions): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const found = await operator.push.deliveries(findOf(options));
    const rows = found.map(({ scope, url, ...delivery }) => ({
      ...{ taskId: delivery.taskId, configId: delivery.configId, status: delivery.status },
      ...{ delivered: delivery.position, of: delivery.version, attempts: delivery.attempts },
      dueInMs: rounded(delivery.dueInMs),
      failingForMs: rounded(delivery.failingForMs),
      ...{ holder: delivery.holder, lastError: delivery.lastError },
      ...{ url: shownUrl(url), tenant: scope.tenant, owner: scope.owner },
    }));
    printRows({ rows, json: options.json, none: 'No delivery waits.' });
    return EXIT_OK;
  });
}

/** Prints events that were given up, the youngest first. */
export function deadLetters(options: PushCommandOptions): Promise<number> {
  return withOperator(options.config, async (operator) => {
    const found = await operator.push.deadLetters(findOf(options));
    const rows = found.map(({ scope, url, ageMs, ...letter }) => ({
      ...{ taskId: letter.taskId, configId: letter.configId, seq: letter.seq, status: letter.status },
      ...{ attempts: letter.attempts, ageMs: rounded(ageMs), error: letter.error },
      ...{ url: shownUrl(url), tenant: scope.tenant, owner: scope.owner },
    }));
    printRows({ rows, json: options.json, none: 'No event was given up.' });
    return EXIT_OK;
  });
}

/** Has what waits, is disabled or was given up tried again by a running replica. */
export function retryPushes(
  options: Pick<DatabaseCommandOptions, 'config' | 'json'> & {
    readonly taskId: string;
    readonly configId: string | undefined;
  },
): Promise<number> {
  const { config, json, taskId, configId } = options;
  return withOperator(config, async (operator) => {
    const touched = await operator.push.retry({ taskId, ...(configId === undefined ? {} : { configId }) });
    const text = json
      ? JSON.stringify({ taskId, ...touched })
      : `To be tried again: ${touched.configs} webhooks, ${touched.deadLetters} dead letters.`;
    process.stdout.write(`${text}\n`);
    return touched.configs + touched.deadLetters > 0 ? EXIT_OK : EXIT_FAILED;
  });
}

function findOf({ taskId, limit }: PushCommandOptions): { taskId?: string; limit: number } {
  return { limit, ...(taskId === undefined ? {} : { taskId }) };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
