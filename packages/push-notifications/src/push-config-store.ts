import { randomUUID } from 'node:crypto';
import { createSilentLogger, errorText, isStorableKey, type Logger, type Scope } from '@a2a-cluster/core';
import type { Database, PushConfigRow } from '@a2a-cluster/db';
import { ScopedCallContext, storableScopeOf } from '@a2a-cluster/task-store';
import { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import {
  resolveUserScope,
  type OwnerResolver,
  type PushNotificationStore,
  type ServerCallContext,
} from '@a2a-js/sdk/server';
import {
  createWebhookAddressPolicy,
  webhookRefused,
  type WebhookAddressPolicy,
} from './webhook-address-policy.js';

/** A config and the protocol version of the caller that registered it. */
export interface StoredPushConfig {
  readonly config: TaskPushNotificationConfig;
  readonly wireVersion: string;
}

/**
 * The context of one delivery: resolves to the task's own scope, and carries the configs as they were when it began,
 * so that a batch of events costs one query.
 */
export class DeliveryContext extends ScopedCallContext {
  readonly taskId: string;
  readonly configs: readonly StoredPushConfig[];

  constructor(delivery: {
    readonly taskId: string;
    readonly scope: Scope;
    readonly configs: readonly StoredPushConfig[];
  }) {
    super(delivery.scope);
    this.taskId = delivery.taskId;
    this.configs = delivery.configs;
  }
}

/** The SDK's store of push configs, and what a delivery asks for. */
export interface PushConfigStore extends PushNotificationStore {
  loadWithMetadata(
    taskId: string,
    context: ServerCallContext,
  ): Promise<{ config: TaskPushNotificationConfig; wireVersion: string }[]>;
  /**
   * What to hand to a sender for each task's events: its configs whose address may be connected to now. Null: none,
   * nothing is to be sent. One query for all, of at most `MOST_TASKS_AT_ONCE` tasks.
   */
  contextsFor(
    tasks: readonly { readonly taskId: string; readonly scope: Scope }[],
  ): Promise<(DeliveryContext | null)[]>;
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
}

/**
 * Push configs in the database, scoped by tenant and owner: another's config is as if it did not exist.
 *
 * `save` assigns `config.id` in place when it is empty and replaces a config of the same id. It throws
 * `RequestMalformedError` for an address the policy refuses (reason `WEBHOOK_ADDRESS_REFUSED`), an id that cannot be
 * stored or a header that cannot be sent, and `TaskNotFoundError` for a task id that cannot be stored or is another's.
 * `delete` without an id deletes the config named like the task, as the SDK's own store does; deleting what is not
 * there is no error.
 */
export function createPushConfigStore(options: PushConfigStoreOptions): PushConfigStore {
  return new DatabasePushConfigStore(options);
}

class DatabasePushConfigStore implements PushConfigStore {
  private readonly configs: Database['pushConfigs'];
  private readonly ownerResolver: OwnerResolver;
  private readonly policy: WebhookAddressPolicy;
  private readonly logger: Logger;

  constructor(options: PushConfigStoreOptions) {
    this.configs = options.database.pushConfigs;
    this.ownerResolver = options.ownerResolver ?? resolveUserScope;
    this.policy =
      options.policy ?? createWebhookAddressPolicy({ allowPrivate: options.allowPrivate ?? false });
    this.logger = options.logger ?? createSilentLogger();
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
    const row = { taskId, configId: config.id, scope, payload, wireVersion: context.requestedVersion };
    if (!(await this.configs.save(row))) throw new TaskNotFoundError(`Task not found: ${taskId}`);
  }

  async load(taskId: string, context: ServerCallContext): Promise<TaskPushNotificationConfig[]> {
    return (await this.loadWithMetadata(taskId, context)).map(({ config }) => config);
  }

  async loadWithMetadata(
    taskId: string,
    context: ServerCallContext,
  ): Promise<{ config: TaskPushNotificationConfig; wireVersion: string }[]> {
    if (context instanceof DeliveryContext && context.taskId === taskId)
      return structuredClone([...context.configs]);
    return this.read({ taskId, scope: storableScopeOf(context, this.ownerResolver) });
  }

  async delete(taskId: string, context: ServerCallContext, configId: string = taskId): Promise<void> {
    const scope = storableScopeOf(context, this.ownerResolver);
    if (isStorableKey(taskId) && isStorableKey(configId))
      await this.configs.remove({ taskId, scope, configId });
  }

  async contextsFor(
    tasks: readonly { readonly taskId: string; readonly scope: Scope }[],
  ): Promise<(DeliveryContext | null)[]> {
    const found = await this.configs.loadMany(tasks);
    return Promise.all(tasks.map((task, index) => this.contextOf(task, this.decodeAll(found[index] ?? []))));
  }

  private async contextOf(
    task: { readonly taskId: string; readonly scope: Scope },
    stored: readonly StoredPushConfig[],
  ): Promise<DeliveryContext | null> {
    const open = await Promise.all(stored.map(({ config }) => this.mayConnect(config)));
    const configs = stored.filter((_config, index) => open[index]);
    return configs.length === 0 ? null : new DeliveryContext({ ...task, configs });
  }

  private async mayConnect(config: TaskPushNotificationConfig): Promise<boolean> {
    const refusal = await this.policy.checkAtSend(config.url);
    if (refusal === null) return true;
    this.logger.warn({ taskId: config.taskId, configId: config.id }, `a push is not sent: ${refusal}`);
    return false;
  }

  private async read(find: {
    readonly taskId: string;
    readonly scope: Scope;
  }): Promise<{ config: TaskPushNotificationConfig; wireVersion: string }[]> {
    if (!isStorableKey(find.taskId)) return [];
    const rows = await this.configs.load(find);
    return this.decodeAll(rows);
  }

  private decodeAll(rows: readonly PushConfigRow[]): StoredPushConfig[] {
    return rows.flatMap((row) => this.decode(row) ?? []);
  }

  private decode(row: PushConfigRow): { config: TaskPushNotificationConfig; wireVersion: string } | null {
    const { taskId, configId, payload, wireVersion } = row;
    try {
      const config = TaskPushNotificationConfig.fromJSON(JSON.parse(payload));
      return { config: { ...config, taskId, id: configId }, wireVersion };
    } catch (error) {
      this.logger.error(
        { taskId, configId, reason: errorText(error) },
        'a push config cannot be read and is skipped',
      );
      return null;
    }
  }
}

/** What the HTTP client would refuse at every send is refused here, once. */
function checkHeaders({ token, authentication }: TaskPushNotificationConfig): void {
  for (const value of [token, authentication?.scheme, authentication?.credentials])
    if (value && !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new RequestMalformedError('The token or the credentials cannot stand in an HTTP header.');
}
