import { errorText, type Logger } from '@a2a-cluster/core';
import type { ClaimedDeadLetter, Database } from '@a2a-cluster/db';
import { decodeConfig } from '../stored-config.js';
import type { WebhookClient } from '../webhook/client.js';
import { repeatedRequestOf } from '../webhook/request-of.js';
import { tracedPost } from './traced-post.js';

/** What {@link sendDeadLetter} needs. */
export interface LetterParts {
  readonly database: Pick<Database, 'pushQueue'>;
  readonly client: WebhookClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly holder: string;
}

/** One attempt of a dead letter, with the id and the body of all earlier ones; out of the order of its config. */
export async function sendDeadLetter(parts: LetterParts, letter: ClaimedDeadLetter): Promise<void> {
  const { taskId, configId, seq, claim } = letter;
  const { database, client, logger, signal } = parts;
  try {
    const stored = decodeConfig(letter);
    const { attempts } = letter;
    const sending = {
      client,
      signal,
      event: letter,
      holder: parts.holder,
      attempt: attempts + 1,
      origin: null,
    };
    const outcome =
      stored && (await tracedPost({ ...sending, request: repeatedRequestOf({ stored, ...letter }) }));
    const error =
      outcome === null ? 'The stored config cannot be read.' : 'error' in outcome ? outcome.error : null;
    await database.pushQueue.settleDeadLetter({ taskId, configId, seq, claim, error });
  } catch (error) {
    logger.warn({ taskId, configId, seq, reason: errorText(error) }, 'a dead letter could not be sent');
  }
}
