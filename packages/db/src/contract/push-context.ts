import type { Scope } from '@a2a-cluster/core';
import type { ClaimedPush, PushKey, PushListing, PushSettlement } from '../statements/push-queue.js';
import type { PushConfigRow } from '../statements/task-queries.js';
import { LONG_TTL_MS, completionOf, event, freshScope, newTask, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** Who claims, and for longer than any test. */
export const CLAIMANT = { holder: 'replica-a', ttlMs: LONG_TTL_MS };

/** A task and a config of it. */
export interface MadePush extends PushKey {
  readonly task: MadeTask;
}

/** A config of a task. */
export function configOf(
  task: { readonly taskId: string; readonly scope: Scope },
  more: Partial<PushConfigRow> = {},
): PushConfigRow {
  const payload = JSON.stringify({ url: 'https://hook.example/push', token: 't' });
  const { taskId, scope } = task;
  return {
    ...{ taskId, configId: 'c-1', scope, payload, wireVersion: '1.0', origin: 'https://hook.example' },
    ...more,
  };
}

/** What the tests of push delivery share. */
export class PushContext {
  constructor(readonly context: ContractContext) {}

  /** A config at the last event of a running task: it has nothing to deliver. */
  async idle(more: Partial<PushConfigRow> = {}): Promise<MadePush> {
    const task = await this.context.makeTask();
    const config = configOf(task, more);
    await this.context.db.pushConfigs.save(config);
    return { taskId: task.taskId, configId: config.configId, task };
  }

  /** A config with one event to deliver: position 1, version 2. */
  async waiting(more: Partial<PushConfigRow> = {}): Promise<MadePush> {
    const push = await this.idle(more);
    return { ...push, task: await this.commit(push.task) };
  }

  /** So many of them, each of a task of its own: position 0, version 1. */
  async many(count: number): Promise<readonly PushKey[]> {
    const { db } = this.context;
    return Promise.all(
      Array.from({ length: count }, async () => {
        const create = newTask({ scope: freshScope() });
        const { taskId, configId } = configOf(create);
        await db.pushConfigs.save(configOf(create));
        await db.journal.createTask(create);
        return { taskId, configId };
      }),
    );
  }

  /** One event more. */
  async commit(task: MadeTask): Promise<MadeTask> {
    await this.context.db.journal.commit(writeOf(task, { events: [event()] }));
    return { ...task, version: task.version + 1 };
  }

  /** The last event. */
  async complete(task: MadeTask): Promise<MadeTask> {
    await this.context.db.journal.commit(completionOf(task));
    return { ...task, version: task.version + 1 };
  }

  /** Claims the config, which must be free and have events. */
  async claim({ taskId, configId }: PushKey): Promise<ClaimedPush> {
    const { claimed } = await this.context.db.pushQueue.claimOf({ ...CLAIMANT, taskIds: [taskId] });
    const found = claimed.find((one) => one.configId === configId);
    if (!found) throw new Error(`${taskId} ${configId} cannot be claimed`);
    return found;
  }

  /** Who can be claimed by one who looks for work, of these. */
  async due(keys: readonly PushKey[]): Promise<readonly ClaimedPush[]> {
    const due = { ...CLAIMANT, limit: 100, exceptOrigins: [] };
    const { claimed } = await this.context.db.pushQueue.claimDue(due);
    return claimed.filter(({ taskId }) => keys.some((key) => key.taskId === taskId));
  }

  /** Ends a claim, or goes on with it. */
  async settle(claim: ClaimedPush, more: Partial<PushSettlement> = {}): Promise<boolean> {
    const { taskId, configId } = claim;
    const rest = { position: claim.position, delivered: false, next: { kind: 'release' as const } };
    const settlement = { taskId, configId, claim: claim.claim, ...rest, ...more };
    return (await this.context.db.pushQueue.settle([settlement])).length > 0;
  }

  /** The config as operators see it; it must be there. */
  async look({ taskId, configId }: PushKey): Promise<PushListing> {
    const all = await this.context.db.pushQueue.list({ taskId, limit: 100 });
    const found = all.find((one) => one.configId === configId);
    if (!found) throw new Error(`no config ${configId} of ${taskId}`);
    return found;
  }

  /** Lets time pass for a config. */
  async age({ taskId }: PushKey, ms: number): Promise<void> {
    await this.context.tamper.agePushes(taskId, ms);
  }
}
