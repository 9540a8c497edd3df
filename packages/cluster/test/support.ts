import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@a2a-cluster/db';
import { createMemoryDatabase } from '@a2a-cluster/db';
import type { Task } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import type { request } from '../../request-handler/test/support.js';
import { card, contextOf, executor } from '../../request-handler/test/support.js';
import { createCluster, type Cluster, type ClusterOptions } from '../src/index.js';

export { card, contextOf, executor, gate, request, until } from '../../request-handler/test/support.js';

/** Leases that end soon, so that a test of their end is short. */
export const lease = { ttlMs: 3_000, heartbeatMs: 100, sweepIntervalMs: 200 };

/** A cluster of one replica over a database in memory. */
export function newCluster(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const database = options.database ?? createMemoryDatabase();
  return createCluster({ agentCard: card, executor: idle, lease, database, ...options });
}

/** An agent that is never called. */
export const idle: AgentExecutor = executor(async () => {});

export async function send(cluster: Cluster, message: ReturnType<typeof request>): Promise<Task> {
  return (await cluster.requestHandler.sendMessage(message, contextOf())) as Task;
}

/** What a {@link watchedDatabase} was asked, and whether it answers. */
export interface Watched {
  readonly database: Database;
  /** Names of the calls, in order. */
  readonly calls: string[];
  /** From now on every call hangs. */
  hang(): void;
  /** From now on every call of that name is refused. */
  refuse(name: string): void;
}

/** A database in memory, every call of which is noted. */
export function watchedDatabase(inner: Database = createMemoryDatabase()): Watched {
  const calls: string[] = [];
  const refused = new Set<string>();
  let hanging = false;
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]): Promise<unknown> => {
          calls.push(String(name));
          if (hanging) await delay(60_000, undefined, { ref: false });
          if (refused.has(String(name))) throw new Error(`${String(name)} was refused`);
          return Reflect.apply(member, target, args);
        };
      },
    });
  const { provider, hints, journal, leases, log, tasks, pushConfigs, pushQueue } = inner;
  const { replicas, operators, retention } = inner;
  const whole = wrap({ check: inner.check, ping: inner.ping, close: inner.close });
  return {
    calls,
    hang: () => void (hanging = true),
    refuse: (name) => void refused.add(name),
    database: {
      ...{ provider, hints },
      journal: wrap(journal),
      leases: wrap(leases),
      log: wrap(log),
      tasks: wrap(tasks),
      pushConfigs: wrap(pushConfigs),
      pushQueue: wrap(pushQueue),
      replicas: wrap(replicas),
      operators: wrap(operators),
      retention: wrap(retention),
      check: (check) => whole.check(check),
      ping: () => whole.ping(),
      close: () => whole.close(),
    },
  };
}
