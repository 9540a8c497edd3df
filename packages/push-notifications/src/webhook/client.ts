import { createSystemClock, type Clock } from '@a2a-cluster/core';
import type { Agent } from 'undici';
import { resolveBySystem, type ResolveHost, type WebhookAddressPolicy } from './address-policy.js';
import { Attempt } from './attempt.js';
import { createGuardedAgent } from './guarded-agent.js';
import { failed, rejected, type WebhookOutcome } from './outcome.js';
import { createSigner, SIGNATURE_HEADER, type Signer, type SigningKey } from './signature.js';
import { parseWebhookUrl, type WebhookTarget } from './webhook-url.js';

/** The header with the id of a notification: the same on every attempt, so that a receiver can drop repetitions. */
export const NOTIFICATION_ID_HEADER = 'A2A-Notification-Id';

/** One notification for one webhook; see `webhookRequestOf`. */
export interface WebhookRequest {
  readonly url: string;
  readonly body: string;
  readonly contentType: string;
  /** See `notificationIdOf`. */
  readonly notificationId: string;
  /** Beside those that the client sets: content type and length, user agent, id and signature. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes single attempts; knows nothing of retries, order or configs. */
export interface WebhookClient {
  /**
   * One POST. Never rejects and never throws: whatever happens is an outcome. The time limit runs from the call, so
   * it includes the wait for a connection where all of an origin's are taken. An aborted signal ends it as `failed`.
   * The outcome stands with the status line; the rest of the answer is read and thrown away behind it.
   */
  post(request: WebhookRequest, signal?: AbortSignal): Promise<WebhookOutcome>;
  /**
   * Takes no more attempts (they are `failed`), waits for those under way, at most `timeoutMs`, and closes every
   * connection. Never rejects; may be called again.
   */
  close(): Promise<void>;
}

/** Options of {@link createWebhookClient}. */
export interface WebhookClientOptions {
  /** Asked for every address that is connected to. */
  readonly policy: Pick<WebhookAddressPolicy, 'checkAddress'>;
  /** Limit of one attempt in milliseconds: look-up, connection, TLS, sending and the status line. Default 10 000. */
  readonly timeoutMs?: number;
  /** Every key signs; several while receivers change over. Default none: no signature is sent. */
  readonly signing?: readonly SigningKey[];
  /** Open connections per origin, at most; more requests wait. Default 16. */
  readonly connectionsPerOrigin?: number;
  /** Certificates (PEM) that are trusted beside those of Node: for receivers with a CA of their own. Default none. */
  readonly ca?: readonly string[];
  /** Default: the system's resolver. */
  readonly resolve?: ResolveHost;
  readonly clock?: Clock;
}

const USER_AGENT = 'a2a-cluster';

/** URLs whose parts are remembered; when it is full it starts anew. */
const MOST_TARGETS = 1_000;

/**
 * A client with a pool of connections per origin, kept alive between attempts. Costs nothing until the first attempt.
 * @throws ClusterError `CONFIG_INVALID` for a key that cannot sign.
 */
export function createWebhookClient(options: WebhookClientOptions): WebhookClient {
  return new GuardedWebhookClient(options);
}

class GuardedWebhookClient implements WebhookClient {
  readonly #agent: Agent;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #signer: Signer | null;
  readonly #targets = new Map<string, WebhookTarget>();
  #underWay = 0;
  #closing: Promise<void> | null = null;
  #idle: () => void = () => {};

  constructor(options: WebhookClientOptions) {
    this.#clock = options.clock ?? createSystemClock();
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#signer = createSigner(options.signing ?? []);
    this.#agent = createGuardedAgent({
      policy: options.policy,
      resolve: options.resolve ?? resolveBySystem,
      connectTimeoutMs: this.#timeoutMs,
      connectionsPerOrigin: options.connectionsPerOrigin ?? 16,
      ca: options.ca ?? [],
    });
  }

  post(request: WebhookRequest, signal?: AbortSignal): Promise<WebhookOutcome> {
    const target = this.#targetOf(request.url);
    if (typeof target === 'string') return Promise.resolve(rejected(target));
    if (this.#closing !== null) return Promise.resolve(failed('The client is closed.'));
    if (signal?.aborted) return Promise.resolve(failed('The attempt was cut short.'));
    this.#underWay += 1;
    return new Promise((resolve) => {
      const settled = (outcome: WebhookOutcome): void => {
        this.#underWay -= 1;
        if (this.#underWay === 0) this.#idle();
        resolve(outcome);
      };
      const attempt = new Attempt({ clock: this.#clock, timeoutMs: this.#timeoutMs, signal, settled });
      this.#dispatch({ request, target, attempt });
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    await this.#agent.destroy();
  }

  #dispatch({ request, target, attempt }: Sending): void {
    try {
      this.#agent.dispatch(
        {
          origin: target.origin,
          path: target.path,
          method: 'POST',
          headers: this.#headersOf(request),
          body: request.body,
          // The attempt has its own, exact, limit.
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        attempt,
      );
    } catch (error) {
      attempt.onResponseError(null, error instanceof Error ? error : new Error('not sent'));
    }
  }

  #headersOf(request: WebhookRequest): string[] {
    const { notificationId, contentType, body, headers } = request;
    const lines = [
      'content-type',
      contentType,
      'user-agent',
      USER_AGENT,
      NOTIFICATION_ID_HEADER,
      notificationId,
    ];
    for (const name of Object.keys(headers)) lines.push(name, headers[name] ?? '');
    if (this.#signer !== null) {
      const nowSeconds = Math.floor(Date.parse(this.#clock.wallIso()) / 1_000);
      lines.push(SIGNATURE_HEADER, this.#signer({ id: notificationId, body, nowSeconds }));
    }
    return lines;
  }

  #targetOf(url: string): WebhookTarget | string {
    const known = this.#targets.get(url);
    if (known !== undefined) return known;
    const target = parseWebhookUrl(url);
    if (typeof target === 'string') return target;
    if (this.#targets.size >= MOST_TARGETS) this.#targets.clear();
    this.#targets.set(url, target);
    return target;
  }
}

interface Sending {
  readonly request: WebhookRequest;
  readonly target: WebhookTarget;
  readonly attempt: Attempt;
}
