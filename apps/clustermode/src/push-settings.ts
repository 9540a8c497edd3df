import { z } from 'zod';
import { durationMs, listOfWords, of, trueOrFalse, wholeNumber } from './setting-values.js';

/** The settings about webhooks, by variable. */
export const pushSettings = {
  PUSH_ALLOW_PRIVATE: of(trueOrFalse(), 'whether webhooks may have private addresses', 'false'),
  PUSH_ALLOW: of(
    listOfWords(),
    'webhook addresses that are let through all the same: names, ranges or host:port, comma separated',
    'none',
  ),
  PUSH_SIGNING_KEYS: of(z.string(), 'keys that sign webhooks: id=secret, comma separated', 'no signature'),
  PUSH_TIMEOUT_MS: of(durationMs(), 'longest time of one delivery attempt', '10000'),
  PUSH_CLAIM_TTL_MS: of(
    durationMs(),
    'time after which others take over a dead sender’s deliveries',
    '30000',
  ),
  PUSH_POLL_INTERVAL_MS: of(durationMs(), 'longest time between two looks for deliveries', '5000'),
  PUSH_CONCURRENCY: of(wholeNumber(1, 10_000), 'most delivery attempts at once', '64'),
  PUSH_CONCURRENCY_PER_ORIGIN: of(wholeNumber(1, 10_000), 'most of them to one host', '16'),
  PUSH_MAX_AGE_MS: of(durationMs(), 'how long a delivery is tried before it is given up', '86400000'),
};
