import type { IncomingHttpHeaders } from 'node:http';
import type { Clock, Timer } from '@a2a-cluster/core';
import type { Dispatcher } from 'undici';
import { failed, outcomeOfAnswer, outcomeOfError, type WebhookOutcome } from './outcome.js';

/** How much of an answer's body is read, in bytes; then the connection is cut. */
export const MAX_RESPONSE_BODY_BYTES = 64 * 1_024;

/** How long the body may take after the headers, in milliseconds; then the connection is cut. */
export const MAX_RESPONSE_BODY_MS = 1_000;

/** What an {@link Attempt} needs. */
export interface AttemptParts {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called once. */
  readonly settled: (outcome: WebhookOutcome) => void;
}

/**
 * One request under way, as undici's handler. It settles at the status line, at an error, at the time limit or when
 * the signal aborts, whichever is first. The body decides nothing: it is read and thrown away, so that the connection
 * can be used again, within bounds.
 */
export class Attempt implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | null = null;
  #settled = false;
  #bodyBytes = 0;
  #timer: Timer;
  readonly #parts: AttemptParts;
  readonly #onAbort = (): void => this.#giveUp('The attempt was cut short.');

  constructor(parts: AttemptParts) {
    this.#parts = parts;
    const { clock, timeoutMs, signal } = parts;
    this.#timer = clock.setTimer(timeoutMs, () =>
      this.#giveUp(`The webhook did not answer within ${timeoutMs} ms.`),
    );
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Given up while it waited for a connection. A throw takes it off the queue and, unlike an abort, leaves the
    // connection to the next.
    if (this.#settled) throw new Error('given up');
    this.#controller = controller;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // 1xx say nothing yet; any number of them is bounded by the time limit.
    if (status < 200 || this.#settled) return;
    const { clock } = this.#parts;
    const nowMs = (): number => Date.parse(clock.wallIso());
    this.#settle(outcomeOfAnswer({ status, retryAfter: headers['retry-after'], nowMs }));
    this.#timer = clock.setTimer(MAX_RESPONSE_BODY_MS, () => controller.abort(new Error('a slow body')));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > MAX_RESPONSE_BODY_BYTES) controller.abort(new Error('a long body'));
  }

  onResponseEnd(): void {
    this.#timer.cancel();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#timer.cancel();
    if (!this.#settled) this.#settle(outcomeOfError(error));
  }

  #giveUp(error: string): void {
    if (this.#settled) return;
    this.#settle(failed(error));
    this.#controller?.abort(new Error('given up'));
  }

  #settle(outcome: WebhookOutcome): void {
    this.#settled = true;
    this.#timer.cancel();
    this.#parts.signal?.removeEventListener('abort', this.#onAbort);
    this.#parts.settled(outcome);
  }
}
