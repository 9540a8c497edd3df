import { of, wholeNumber } from './setting-values.js';

/** A hundred years: times are days and more, longer than timers can wait. */
const MOST_MS = 100 * 365 * 24 * 60 * 60 * 1_000;

/** The settings about what is kept of tasks that have ended or were left. */
export const retentionSettings = {
  EVENT_RETENTION_MS: of(
    wholeNumber(0, MOST_MS),
    'how long an ended task keeps its events; 0: for ever',
    '86400000',
  ),
  TASK_RETENTION_MS: of(
    wholeNumber(0, MOST_MS),
    'how long an ended task is kept, at least EVENT_RETENTION_MS; 0: for ever',
    'for ever',
  ),
  ORPHAN_AFTER_MS: of(
    wholeNumber(1, MOST_MS),
    'after an upgrade from a build without leases: ends tasks that run without one and are silent for so long',
    'off',
  ),
};
