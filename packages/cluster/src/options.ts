import type { AgentCard } from '@a2a-js/sdk';
import type { AgentExecutor, ExtendedAgentCardProvider, OwnerResolver } from '@a2a-js/sdk/server';
import type { Clock, Logger, Telemetry } from '@a2a-cluster/core';
import type { Database, DatabaseOptions } from '@a2a-cluster/db';
import type { LeaseOptions } from '@a2a-cluster/lease-store';
import type { PushDeliveryLimits, SigningKey, WebhookClient } from '@a2a-cluster/push-notifications';
import type { HandlerOptions } from '@a2a-cluster/request-handler';
import type { RetentionOptions } from '@a2a-cluster/retention';

/** Webhooks: which addresses they may have, how they are signed, and how many are served at once. */
export interface PushOptions extends PushDeliveryLimits {
  /** Allows webhooks in private, loopback and link-local ranges. Default false. */
  readonly allowPrivate?: boolean;
  /** Names, ranges and `host:port` that are let through although they would be refused. Default none. */
  readonly allow?: readonly string[];
  /** Keys that sign every notification; several while receivers change over. Default none: no signature. */
  readonly signing?: readonly SigningKey[];
  /** Makes the attempts in place of the built-in client; closed with the cluster. */
  readonly client?: WebhookClient;
}

/** What a cluster is made of. Only a database, the card and the executor are needed; times are in milliseconds. */
export interface ClusterOptions extends HandlerOptions {
  /** `file:`, `postgresql://`, `mysql://` or `mariadb://`; migrated before by `prisma migrate deploy`. */
  readonly databaseUrl?: string;
  /** A database opened by the caller, in place of `databaseUrl`; the caller closes it. */
  readonly database?: Database;
  /** Sizes and limits of the database that `databaseUrl` opens. */
  readonly databaseOptions?: Omit<DatabaseOptions, 'url' | 'logger' | 'ttlMs'>;
  readonly agentCard: AgentCard;
  /** Unchanged from `DefaultRequestHandler`. */
  readonly executor: AgentExecutor;
  /** A name for logs; the holder in the tables is `<replicaId>-<boot>`. Default: the host's name. */
  readonly replicaId?: string;
  readonly logger?: Logger;
  /** Told of everything that is counted or measured, as it happens. Default: nobody. See {@link Telemetry}. */
  readonly telemetry?: Telemetry;
  readonly lease?: LeaseOptions;
  readonly sweeper?: {
    /** The longest wait between two sweeps. Default: see `LeaseOptions.sweepIntervalMs`. */
    readonly intervalMs?: number;
    /** Most leases per statement. Default 500; 100 on SQLite, whose statements block this process. */
    readonly batchSize?: number;
    /**
     * Ends tasks that run without a lease and were written to by nobody for so long: what an older build without leases
     * left behind. At least 2 x the TTL. Default: never.
     */
    readonly orphanAfterMs?: number;
  };
  /** How long ended tasks keep their events, and how long they are kept. Default: a day, for ever. False: all for ever. */
  readonly retention?: RetentionOptions | false;
  /** How replicas wake each other: `auto` (default) takes LISTEN where the database has it. */
  readonly hints?: 'auto' | 'listen' | 'poll';
  /** How often the log is asked without a hint. Default 250, behind LISTEN 1 000. */
  readonly pollIntervalMs?: number;
  readonly push?: PushOptions;
  /** Whose task it is. Default: the SDK's, the user's name. */
  readonly ownerResolver?: OwnerResolver;
  readonly extendedAgentCard?: AgentCard | ExtendedAgentCardProvider;
  /** Refuses parts whose media type is not in the card's input modes. Default false, as in the SDK. */
  readonly validateInputModes?: boolean;
  /** For tests. */
  readonly clock?: Clock;
}
