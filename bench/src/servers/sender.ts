import { createCluster, type Cluster } from '@a2a-cluster/cluster';
import { createDatabase } from '@a2a-cluster/db';
import { BenchAgent } from './agent.js';
import { pushCard } from './handlers.js';
import type { SenderCommand, SenderMessage, SenderSettings, SenderUse } from './sender-protocol.js';
import { watchCalls } from './watch-calls.js';

// A replica without HTTP, for what it delivers. The process and its connections to the database stay for all rounds,
// so that they are warm; those to webhooks are the replica's.
const { replicaId, databaseUrl, concurrency, ...times } = JSON.parse(
  process.argv[2] ?? '{}',
) as SenderSettings;
/** Claims, reads and settlements go one at a time each. */
const POOL_SIZE = 4;
const opened = await createDatabase({ url: databaseUrl, poolSize: POOL_SIZE, ttlMs: 30_000 });
const { database, take } = watchCalls(opened);
let cluster: Cluster | null = null;
let cpuAtOpenMs = 0;
// Timers of the product keep no process alive, and SQLite has no sockets that would.
setInterval(() => {}, 1_000);
say({ type: 'ready' });

process.on('message', (command: SenderCommand) => void obey(command));
// Whoever started this process is gone.
process.on('disconnect', () => process.exit(0));

async function obey({ type }: SenderCommand): Promise<void> {
  switch (type) {
    case 'open':
      cluster = await createCluster({
        ...{ database, replicaId, agentCard: pushCard, executor: new BenchAgent() },
        push: { allowPrivate: true, concurrency, concurrencyPerOrigin: concurrency, ...times },
      });
      take();
      cpuAtOpenMs = cpuMs();
      return say({ type: 'opened' });
    case 'start':
      return cluster?.start();
    case 'stop': {
      const use = useOf();
      await cluster?.close({ drainTimeoutMs: 0 });
      return say({ type: 'stopped', use });
    }
    case 'close':
      await cluster?.close({ drainTimeoutMs: 0 });
      await opened.close();
      process.exit(0);
  }
}

function useOf(): SenderUse {
  const { firstClaimMs, calls } = take();
  return { firstClaimMs, calls: [...calls], cpuMs: cpuMs() - cpuAtOpenMs };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function say(message: SenderMessage): void {
  process.send?.(message);
}
