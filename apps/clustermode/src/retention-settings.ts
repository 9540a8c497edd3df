import type { ClusterOptions } from '@a2a-cluster/cluster';
import { of, wholeNumber } from './setting-values.js';
import type { SettingValues } from './settings.js';

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

/** What the settings say of it; what is undefined is left to the library's defaults. */
export interface RetentionConfig {
  readonly retention: NonNullable<Exclude<ClusterOptions['retention'], false>>;
  readonly orphanAfterMs: number | undefined;
}

/** Reads the settings. Whether they fit each other is checked by the library. */
export function retentionConfigOf(values: SettingValues): RetentionConfig {
  const { EVENT_RETENTION_MS: eventsMs, TASK_RETENTION_MS: tasksMs, ORPHAN_AFTER_MS: orphanAfterMs } = values;
  return {
    retention: {
      ...(eventsMs === undefined ? {} : { eventsMs }),
      ...(tasksMs === undefined ? {} : { tasksMs }),
    },
    orphanAfterMs,
  };
}

/** The library's options and the settings they come from. */
export const RETENTION_SETTING_OF = {
  'retention.eventsMs': 'EVENT_RETENTION_MS',
  'retention.tasksMs': 'TASK_RETENTION_MS',
  orphanAfterMs: 'ORPHAN_AFTER_MS',
} as const;
