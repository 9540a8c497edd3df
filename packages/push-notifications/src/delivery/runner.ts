import {
  ClusterError,
  errorText,
  isClusterError,
  type Clock,
  type EventRow,
  type Logger,
} from '@a2a-cluster/core';
import type { Database, PushSettlement } from '@a2a-cluster/db';
import { createTaskReader, type TaskReader } from '@a2a-cluster/task-store';
import type { StoredPushConfig } from '../stored-config.js';
import { createTaskAtRow } from '../task-at-row.js';
import { isTooOld, retryDelayMs } from '../webhook/backoff.js';
import type { WebhookClient, WebhookRequest } from '../webhook/client.js';
import {
  contentTypeOf,
  LEGACY_WIRE_VERSION,
  repeatedRequestOf,
  webhookRequestOf,
} from '../webhook/request-of.js';
import type { WebhookOutcome } from '../webhook/outcome.js';
import { moveTo, type LiveClaim } from './live-claim.js';
import type { ResolvedDeliveryLimits } from './options.js';
import type { Settled, Settler, Settling } from './settler.js';
import type { DeliveryCounters } from './counters.js';
import { tracedPost, type DeliveryOrigins } from './traced-post.js';

/** What {@link ClaimRunner} needs. */
export interface RunnerParts {
  readonly database: Pick<Database, 'log' | 'tasks' | 'pushQueue'>;
  readonly client: WebhookClient;
  readonly settler: Settler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: ResolvedDeliveryLimits;
  readonly counters: DeliveryCounters;
  readonly holder: string;
  readonly origins: DeliveryOrigins;
  /** Aborts when attempts under way are given up. */
  readonly closing: AbortSignal;
  /** A retry of a config was put off for so long. */
  readonly onRetry: (delayMs: number) => void;
}

/** What must be left of a claim beside the time of the attempt, or it is renewed first. */
const SPARE_SHARE = 0.1;

/** Sends the events of a claim, one at a time and in order, and settles what becomes of each. */
export class ClaimRunner {
  private readonly reader: TaskReader;

  constructor(private readonly parts: RunnerParts) {
    this.reader = createTaskReader({ database: parts.database });
  }

  /**
   * One attempt of the claim's next event. Gives whether the origin failed, null when nothing was sent. `claim.ended`
   * says whether the claim goes on. Never rejects.
   */
  async attempt(claim: LiveClaim): Promise<boolean | null> {
    const row = claim.rows[0];
    if (row === undefined || claim.ended) return null;
    try {
      if (!this.isTrusted(claim)) await this.mark(claim, true);
      if (claim.ended) return null;
      const { stored } = claim;
      if (stored === null) return await this.disable(claim, 'The stored config cannot be read.');
      const request = await this.requestOf({ claim, row, stored });
      if (request === null) return null;
      const outcome = await this.post(claim, row, request);
      return await this.judge({ claim, row, request, outcome });
    } catch (error) {
      return this.faulted(claim, row, error);
    }
  }

  private post(claim: LiveClaim, row: EventRow, request: WebhookRequest): Promise<WebhookOutcome> {
    const { client, closing: signal, holder, origins } = this.parts;
    const { taskId, configId } = claim.push;
    const event = { taskId, configId, seq: row.seq };
    const attempt = claim.attempts + 1;
    return tracedPost({ client, request, signal, event, holder, attempt, origin: origins.of(taskId) });
  }

  /** Ends the claim: what is left is for whoever comes next. Gives when it is stored. */
  async release(claim: LiveClaim): Promise<void> {
    claim.ended = true;
    // Of a task that has ended and is delivered nobody waits for it: it goes with others.
    const isLast = claim.taskEnded && claim.position >= claim.version;
    await this.settle(claim, { kind: 'release' }, !isLast);
  }

  /** Ends the claim for a fault of ours: it is tried again like a failed attempt, so that it cannot go round in circles. */
  async postpone(claim: LiveClaim, error: string): Promise<void> {
    await this.retry(claim, { error, retryAfterMs: null });
  }

  /** A claim that could end during the attempt is renewed first; so nobody else sends the same event meanwhile. */
  private isTrusted(claim: LiveClaim): boolean {
    const { clock, limits } = this.parts;
    const neededMs = limits.attemptTimeoutMs + limits.claimTtlMs * SPARE_SHARE;
    return clock.monotonicMs() + neededMs <= claim.trustedUntilMs;
  }

  /** Says how far the claim has come, and that it goes on. One that waits to be sent will say what is true then. */
  private async mark(claim: LiveClaim, soon: boolean): Promise<void> {
    if (claim.marking && !soon) return;
    claim.marking = true;
    const { claimTtlMs: ttlMs } = this.parts.limits;
    const { held, sentAtMs } = await this.settle(claim, { kind: 'keep', ttlMs }, soon);
    if (held) claim.trustedUntilMs = sentAtMs + ttlMs;
    else claim.ended = true;
  }

  private settle(claim: LiveClaim, next: PushSettlement['next'], soon = true): Promise<Settled> {
    const { taskId, configId, claim: number } = claim.push;
    const make = (): ReturnType<Settling['make']> => {
      const delivered = claim.accepted;
      claim.accepted = false;
      claim.marking = false;
      return { position: claim.position, delivered, next };
    };
    return this.parts.settler.settle({ taskId, configId, claim: number, make }, soon);
  }

  private async requestOf(made: {
    readonly claim: LiveClaim;
    readonly row: EventRow;
    readonly stored: StoredPushConfig;
  }): Promise<WebhookRequest | null> {
    const { claim, row, stored } = made;
    if (stored.wireVersion !== LEGACY_WIRE_VERSION) return webhookRequestOf({ stored, row: readable(row) });
    if (claim.body?.seq === row.seq) {
      const contentType = contentTypeOf(stored.wireVersion);
      return repeatedRequestOf({ stored, seq: row.seq, body: claim.body.text, contentType });
    }
    const { taskId, configId, scope, claim: number } = claim.push;
    claim.taskAt ??= createTaskAtRow({ reader: this.reader, taskId, scope });
    const request = webhookRequestOf({ stored, row, task: await claim.taskAt(row) });
    // Before the next attempt the log may be pruned, or the fold be that of a later version: every attempt sends this.
    const store = { taskId, configId, claim: number, seq: row.seq, body: request.body };
    claim.ended = !(await this.parts.database.pushQueue.storeBody(store));
    claim.body = { seq: row.seq, text: request.body };
    return claim.ended ? null : request;
  }

  private async judge(tried: {
    readonly claim: LiveClaim;
    readonly row: EventRow;
    readonly request: WebhookRequest;
    readonly outcome: WebhookOutcome;
  }): Promise<boolean | null> {
    const { claim, row, request, outcome } = tried;
    // An attempt that was cut by the close says nothing of its webhook.
    if (outcome.kind !== 'delivered' && this.parts.closing.aborted) return null;
    this.parts.counters.count(outcome.kind);
    switch (outcome.kind) {
      case 'delivered':
        moveTo(claim, row.seq);
        claim.accepted = true;
        // The last one's mark goes with the release.
        if (claim.position < claim.version) void this.mark(claim, false);
        return false;
      case 'rejected':
        return this.bury({ claim, row, request, error: outcome.error });
      case 'gone':
        return this.disable(claim, outcome.error);
      case 'failed':
        return this.failed({ claim, row, request, outcome });
    }
  }

  private async failed(tried: {
    readonly claim: LiveClaim;
    readonly row: EventRow;
    readonly request: WebhookRequest;
    readonly outcome: Extract<WebhookOutcome, { kind: 'failed' }>;
  }): Promise<boolean> {
    const { claim, row, request, outcome } = tried;
    const { limits, clock } = this.parts;
    const failingForMs = claim.attempts === 0 ? 0 : clock.monotonicMs() - claim.failingSinceMs;
    if (isTooOld({ failingForMs, maxAgeMs: limits.maxAgeMs })) {
      await this.bury({ claim, row, request, error: outcome.error });
      return true;
    }
    await this.retry(claim, { error: outcome.error, retryAfterMs: outcome.retryAfterMs });
    return true;
  }

  private async retry(
    claim: LiveClaim,
    failure: { readonly error: string; readonly retryAfterMs: number | null },
  ): Promise<void> {
    const { firstRetryMs, longestRetryMs } = this.parts.limits;
    const delayMs = retryDelayMs({
      attempts: claim.attempts + 1,
      retryAfterMs: failure.retryAfterMs,
      random: Math.random,
      options: { firstMs: firstRetryMs, capMs: longestRetryMs },
    });
    claim.ended = true;
    claim.attempts += 1;
    await this.settle(claim, { kind: 'retry', delayMs, error: failure.error });
    this.parts.onRetry(delayMs);
  }

  private async disable(claim: LiveClaim, error: string): Promise<null> {
    const { taskId, configId } = claim.push;
    this.parts.logger.warn({ taskId, configId, reason: error }, 'a webhook is disabled');
    claim.ended = true;
    await this.settle(claim, { kind: 'disable', error });
    return null;
  }

  /** The event goes to the dead letters; its successors go on. */
  private async bury(given: {
    readonly claim: LiveClaim;
    readonly row: EventRow;
    readonly request: Pick<WebhookRequest, 'body' | 'contentType'>;
    readonly error: string;
  }): Promise<boolean> {
    const { claim, row, request, error } = given;
    const { taskId, configId, claim: number } = claim.push;
    const attempts = claim.attempts + 1;
    this.parts.logger.warn({ taskId, configId, seq: row.seq, attempts, reason: error }, 'a push is given up');
    this.parts.counters.count('buried');
    const ttlMs = this.parts.limits.claimTtlMs;
    const letter = { taskId, configId, seq: row.seq, attempts, error };
    const { body, contentType } = request;
    const held = await this.parts.database.pushQueue.bury({
      ...letter,
      body,
      contentType,
      claim: number,
      ttlMs,
    });
    moveTo(claim, row.seq);
    if (!held) claim.ended = true;
    return false;
  }

  /** A row that can never be sent is given up; a fault of the database comes again. */
  private async faulted(claim: LiveClaim, row: EventRow, error: unknown): Promise<null> {
    const { taskId, configId } = claim.push;
    const { logger } = this.parts;
    logger.error(
      { taskId, configId, seq: row.seq, reason: errorText(error) },
      'an event could not be pushed',
    );
    if (isClusterError(error, 'ROW_CORRUPT')) {
      const request = { body: row.payload, contentType: 'application/octet-stream' };
      const buried = await this.bury({
        claim,
        row,
        request,
        error: 'The stored event cannot be read.',
      }).catch(() => null);
      if (buried !== null) return null;
    }
    await this.postpone(claim, 'The event could not be prepared.');
    return null;
  }
}

/**
 * The row, whose payload is sent as it is.
 * @throws ClusterError `ROW_CORRUPT` when that is not JSON.
 */
function readable(row: EventRow): EventRow {
  // It was encoded in this process.
  if (row.decoded !== undefined) return row;
  try {
    JSON.parse(row.payload);
    return row;
  } catch (cause) {
    throw new ClusterError('ROW_CORRUPT', 'the stored event is not JSON', { cause });
  }
}
