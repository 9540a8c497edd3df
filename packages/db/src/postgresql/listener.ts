import { randomUUID } from 'node:crypto';
import { ClusterError, errorText, sleep, type Clock, type Timer } from '@a2a-cluster/core';
import pg from 'pg';
import type { HintListener } from '../database.js';
import { connectFault, isStartupParameterRefused } from '../errors/postgresql-faults.js';
import { socketOf } from './connections.js';
import { decodeHint } from './hint-payload.js';

/** Options of {@link openListener}. */
export interface ListenerOptions {
  readonly config: pg.ClientConfig;
  readonly channel: string;
  readonly clock: Clock;
  readonly selfTestMs: number;
  readonly livenessMs: number;
  readonly handlers: {
    onHint(taskIds: readonly string[]): void;
    onLost(cause: unknown): void;
  };
  /** Notifies the channel with this nonce, by another connection. */
  sendSelfTest(nonce: string): Promise<void>;
}

/** How long `close` waits for the server to say goodbye. */
const CLOSE_MS = 1_000;

/**
 * Opens the listening connection and proves that it hears: a self-test comes back before this resolves.
 * @throws `ClusterError` `DATABASE_UNREACHABLE` (no connection) or `DATABASE_UNSUITABLE` (LISTEN does not work, as
 * behind PgBouncer in transaction mode, or the server is read-only).
 */
export async function openListener(options: ListenerOptions): Promise<HintListener> {
  const { clock, channel } = options;
  const client = await connect(options.config);
  const listener = createListener(client, options);
  try {
    await proveWritable(client);
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    await listener.selfTest();
  } catch (error) {
    await closeClient(client, clock);
    throw error instanceof ClusterError ? error : connectFault('listen', error);
  }
  listener.watch();
  return { close: () => listener.close() };
}

/**
 * Asks the server whether it lives and takes writes. A failover may leave this connection on the old primary, which
 * answers and from which no hint ever comes again.
 */
async function proveWritable(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only');
  if (rows[0]?.transaction_read_only === 'on')
    throw new ClusterError('DATABASE_UNSUITABLE', 'the server of the listening connection is read-only');
}

interface OpenListener {
  selfTest(): Promise<void>;
  /** From now on a loss is the caller's to know. */
  watch(): void;
  close(): Promise<void>;
}

function createListener(client: pg.Client, options: ListenerOptions): OpenListener {
  const { clock, handlers, livenessMs } = options;
  const nonce = randomUUID();
  const heard = createHeard();
  let state: 'opening' | 'watching' | 'over' = 'opening';
  let timer: Timer | undefined;

  const over = (cause: unknown): void => {
    const wasWatching = state === 'watching';
    state = 'over';
    timer?.cancel();
    heard.fail(cause);
    if (!wasWatching) return;
    socketOf(client)?.destroy();
    handlers.onLost(cause);
  };
  client.on('error', over);
  client.on('end', () => over(new Error('the listening connection ended')));
  client.on('notification', ({ payload }) => {
    const hint = decodeHint(payload ?? '');
    if (hint?.kind === 'selfTest' && hint.nonce === nonce) heard.done();
    if (hint?.kind === 'hint' && state === 'watching') handlers.onHint(hint.taskIds);
  });

  const beatLater = (): void => {
    timer = clock.setTimer(livenessMs, () => {
      // The driver's own time limit makes a connection that swallows everything fail here.
      proveWritable(client).then(() => state === 'watching' && beatLater(), over);
    });
  };
  return {
    selfTest: () => selfTest({ ...options, heard: heard.promise, nonce }),
    watch() {
      if (state === 'over') return handlers.onLost(new Error('the listening connection ended while opening'));
      state = 'watching';
      beatLater();
    },
    close() {
      state = 'over';
      timer?.cancel();
      return closeClient(client, clock);
    },
  };
}

/** Settles when the self-test was heard, or the connection failed before. */
function createHeard(): {
  readonly promise: Promise<void>;
  done(): void;
  fail(cause: unknown): void;
} {
  let done!: () => void;
  let fail!: (cause: unknown) => void;
  const promise = new Promise<void>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  // It may fail while nobody waits.
  promise.catch(() => {});
  return { promise, done, fail };
}

async function selfTest(
  test: ListenerOptions & { readonly heard: Promise<void>; readonly nonce: string },
): Promise<void> {
  const { clock, selfTestMs, heard, nonce, sendSelfTest } = test;
  const settled = new AbortController();
  const late = sleep({ clock, delayMs: selfTestMs, signal: settled.signal }).then(() => {
    const text =
      'LISTEN does not work on this connection: a NOTIFY to itself never came (a pooler in between?)';
    if (!settled.signal.aborted) throw new ClusterError('DATABASE_UNSUITABLE', text);
  });
  try {
    await sendSelfTest(nonce);
    await Promise.race([heard, late]);
  } finally {
    settled.abort();
    late.catch(() => {});
  }
}

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  try {
    return await connectOnce(config);
  } catch (error) {
    if (!isStartupParameterRefused(error)) throw connectFault('listen', error);
    const rest = { ...config };
    delete rest.options;
    return connectOnce(rest).catch((again: unknown) => {
      throw connectFault(`listen (${errorText(error)})`, again);
    });
  }
}

async function connectOnce(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  // For the time until the listener has its own: an error without one would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function closeClient(client: pg.Client, clock: Clock): Promise<void> {
  const ended = new AbortController();
  const goodbye = client.end().catch(() => {});
  await Promise.race([goodbye, sleep({ clock, delayMs: CLOSE_MS, signal: ended.signal })]);
  ended.abort();
  socketOf(client)?.destroy();
}
