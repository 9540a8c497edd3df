import { createHash } from 'node:crypto';
import type { Clock } from '@a2a-cluster/core';
import type pg from 'pg';
import type { HintSource } from '../database.js';
import type { Connections } from './connections.js';
import type { Statement } from './statement.js';
import { encodeHints, encodeSelfTest } from './hint-payload.js';
import { openListener } from './listener.js';

/** Options of {@link createPostgresHints}. */
export interface PostgresHintsOptions {
  /** Sends the hints. */
  readonly requests: Connections;
  /** Of the listening connection. */
  readonly listenerConfig: pg.ClientConfig;
  readonly schema: string;
  readonly clock: Clock;
  /** How long the self-test may take. */
  readonly selfTestMs: number;
  /** How often the listening connection is asked whether it lives, and how long it may take to answer. */
  readonly livenessMs: number;
}

/**
 * Several payloads in one statement. Outside any write transaction: a NOTIFY inside one takes a lock that all
 * notifying transactions of the database commit under, one after another (protocol 7).
 */
const notify: Statement = {
  name: 'notify',
  writes: true,
  text: `SELECT count(pg_notify($1, payload)) FROM unnest($2::text[]) AS payload`,
};

/** PostgreSQL cuts names at 63 bytes. */
const MAX_CHANNEL_BYTES = 63;

/** The channel of a schema: two clusters in one database do not wake each other. */
export function channelOf(schema: string): string {
  const channel = `a2a_cluster:${schema}`;
  if (Buffer.byteLength(channel, 'utf8') <= MAX_CHANNEL_BYTES) return channel;
  return `a2a_cluster:${createHash('sha256').update(schema).digest('hex').slice(0, 40)}`;
}

/** LISTEN and NOTIFY (protocol 7). */
export function createPostgresHints(options: PostgresHintsOptions): HintSource & { readonly kind: 'listen' } {
  const { requests, listenerConfig, clock, selfTestMs, livenessMs } = options;
  const channel = channelOf(options.schema);
  return {
    kind: 'listen',
    async notify(taskIds) {
      const payloads = encodeHints(taskIds);
      if (payloads.length > 0) await requests.run(notify, [channel, payloads]);
    },
    listen: (handlers) =>
      openListener({
        config: listenerConfig,
        channel,
        clock,
        selfTestMs,
        livenessMs,
        handlers,
        // By another connection: a pooler may well hand a connection its own notifications, and no others.
        sendSelfTest: async (nonce) => void (await requests.run(notify, [channel, [encodeSelfTest(nonce)]])),
      }),
  };
}
