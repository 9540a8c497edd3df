import { errorText, type Logger } from '@a2a-cluster/core';
import type { ClaimedDeadLetter, Database } from '@a2a-cluster/db';
import { decodeConfig } from '../stored-config.js';
import type { WebhookClient } from '../webhook/client.js';
import { repeatedRequestOf } from '../webhook/request-of.js';

/** What {@link sendDeadLetter} needs. */
export interface LetterParts {
  readonly database: Pick<Database, 'pushQueue'>;
  readonly client: WebhookClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** One attempt of a dead letter, with the id and the body of all earlier ones; out of the order of its config. */
export async function sendDeadLetter(parts: LetterParts, letter: ClaimedDeadLetter): Promise<void> {
  const { taskId, configId, seq, claim } = letter;
  const { database, client, logger, signal } = parts;
  try {
    const stored = decodeConfig(letter);
    const outcome = stored && (await client.post(repeatedRequestOf({ stored, ...letter }), signal));
    const error =
      outcome === null ? 'The stored config cannot be read.' : 'error' in outcome ? outcome.error : null;
    await database.pushQueue.settleDeadLetter({ taskId, configId, seq, claim, error });
  } catch (error) {
    logger.warn({ taskId, configId, seq, reason: errorText(error) }, 'a dead letter could not be sent');
  }
}
