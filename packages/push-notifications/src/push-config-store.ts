import { randomUUID } from 'node:crypto';
import { createSilentLogger, isStorableKey, type Logger } from '@a2a-cluster/core';
import { MOST_CONFIGS_PER_TASK, type Database, type PushConfigRow } from '@a2a-cluster/db';
import { storableScopeOf } from '@a2a-cluster/task-store';
import { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import {
  resolveUserScope,
  type OwnerResolver,
  type PushNotificationStore,
  type ServerCallContext,
} from '@a2a-js/sdk/server';
import { decodeConfig, type StoredPushConfig } from './stored-config.js';
import {
  createWebhookAddressPolicy,
  webhookRefused,
  type WebhookAddressPolicy,
} from './webhook/address-policy.js';

/** The SDK's store of push configs. */
export interface PushConfigStore extends PushNotificationStore {
  loadWithMetadata(taskId: string, context: ServerCallContext): Promise<StoredPushConfig[]>;
}

/** What {@link createPushConfigStore} needs. */
export interface PushConfigStoreOptions {
  readonly database: Pick<Database, 'pushConfigs'>;
  /** Default: the SDK's `resolveUserScope`. */
  readonly ownerResolver?: OwnerResolver;
  /** Allows webhooks in private, loopback and link-local ranges. Default false. */
  readonly allowPrivate?: boolean;
  /** Replaces the policy that `allowPrivate` makes. */
  readonly policy?: WebhookAddressPolicy;
  readonly logger?: Logger;
  /** Told of every config that was saved, so that what the log already holds after it is delivered at once. */
  readonly onSaved?: (saved: { readonly taskId: string }) => void;
}

/**
 * Push configs in the database, scoped by tenant and owner: another's config is as if it did not exist.
 *
 * `save` assigns `config.id` in place when it is empty and replaces a config of the same id. It throws
 * `RequestMalformedError` for an address the policy refuses (reason `WEBHOOK_ADDRESS_REFUSED`), an id that cannot be
 * stored, a header that cannot be sent or a task that has 50 already, and `TaskNotFoundError` for a task id that cannot
 * be stored or is another's. `delete` without an id deletes the config named like the task, as the SDK's own store does;
 * deleting what is not there is no error.
 */
export function createPushConfigStore(options: PushConfigStoreOptions): PushConfigStore {
  return new DatabasePushConfigStore(options);
}

class DatabasePushConfigStore implements PushConfigStore {
  private readonly configs: Database['pushConfigs'];
  private readonly ownerResolver: OwnerResolver;
  private readonly policy: WebhookAddressPolicy;
  private readonly logger: Logger;
  private readonly onSaved: NonNullable<PushConfigStoreOptions['onSaved']>;

  constructor(options: PushConfigStoreOptions) {
    this.configs = options.database.pushConfigs;
    this.ownerResolver = options.ownerResolver ?? resolveUserScope;
    this.policy =
      options.policy ?? createWebhookAddressPolicy({ allowPrivate: options.allowPrivate ?? false });
    this.logger = options.logger ?? createSilentLogger();
    this.onSaved = options.onSaved ?? (() => {});
  }

  async save(taskId: string, context: ServerCallContext, config: TaskPushNotificationConfig): Promise<void> {
    const scope = storableScopeOf(context, this.ownerResolver);
    if (!isStorableKey(taskId)) throw new TaskNotFoundError(`Task not found: ${taskId}`);
    if (config.id && !isStorableKey(config.id))
      throw new RequestMalformedError('The config id cannot be stored.');
    checkHeaders(config);
    const refusal = await this.policy.checkAtRegistration(config.url);
    if (refusal !== null) throw webhookRefused(refusal);
    if (!config.id) config.id = randomUUID();
    const payload = JSON.stringify(TaskPushNotificationConfig.toJSON({ ...config, taskId }));
    const { origin } = new URL(config.url);
    const wireVersion = context.requestedVersion;
    const saved = await this.configs.save({
      taskId,
      configId: config.id,
      scope,
      payload,
      wireVersion,
      origin,
    });
    if (saved === 'taken') throw new TaskNotFoundError(`Task not found: ${taskId}`);
    if (saved === 'full')
      throw new RequestMalformedError(
        `A task has at most ${MOST_CONFIGS_PER_TASK} push notification configurations.`,
      );
    this.onSaved({ taskId });
  }

  async load(taskId: string, context: ServerCallContext): Promise<TaskPushNotificationConfig[]> {
    return (await this.loadWithMetadata(taskId, context)).map(({ config }) => config);
  }

  async loadWithMetadata(taskId: string, context: ServerCallContext): Promise<StoredPushConfig[]> {
    const scope = storableScopeOf(context, this.ownerResolver);
    if (!isStorableKey(taskId)) return [];
    const rows = await this.configs.load({ taskId, scope });
    return rows.flatMap((row) => this.decode(row) ?? []);
  }

  async delete(taskId: string, context: ServerCallContext, configId: string = taskId): Promise<void> {
    const scope = storableScopeOf(context, this.ownerResolver);
    if (isStorableKey(taskId) && isStorableKey(configId))
      await this.configs.remove({ taskId, scope, configId });
  }

  private decode(row: PushConfigRow): StoredPushConfig | null {
    const stored = decodeConfig(row);
    const { taskId, configId } = row;
    if (stored === null)
      this.logger.error({ taskId, configId }, 'a push config cannot be read and is skipped');
    return stored;
  }
}

/** What the HTTP client would refuse at every send is refused here, once. */
function checkHeaders({ token, authentication }: TaskPushNotificationConfig): void {
  for (const value of [token, authentication?.scheme, authentication?.credentials])
    if (value && !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new RequestMalformedError('The token or the credentials cannot stand in an HTTP header.');
}
