import type { PushConfigRow } from '@a2a-cluster/db';
import { TaskPushNotificationConfig } from '@a2a-js/sdk';

/** A config and the protocol version of the caller that registered it. */
export interface StoredPushConfig {
  readonly config: TaskPushNotificationConfig;
  readonly wireVersion: string;
}

/** The config of a stored row; null when its payload cannot be read. Ids are those of the row. */
export function decodeConfig(
  row: Pick<PushConfigRow, 'taskId' | 'configId' | 'payload' | 'wireVersion'>,
): StoredPushConfig | null {
  const { taskId, configId, payload, wireVersion } = row;
  try {
    const config = TaskPushNotificationConfig.fromJSON(JSON.parse(payload));
    return { config: { ...config, taskId, id: configId }, wireVersion };
  } catch {
    return null;
  }
}
