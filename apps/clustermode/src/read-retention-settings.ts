import type { RetentionOptions } from '@a2a-cluster/cluster';
import type { SettingValues } from './settings.js';

/** What the settings say of it; what is undefined is left to the library's defaults. */
export interface RetentionConfig {
  readonly retention: RetentionOptions;
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
