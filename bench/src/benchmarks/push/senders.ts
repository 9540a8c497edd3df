import type { BenchContext } from '../../benchmark.js';
import { startChild, type Child } from '../../harness/child.js';
import type {
  SenderCommand,
  SenderMessage,
  SenderSettings,
  SenderUse,
} from '../../servers/sender-protocol.js';

/** A replica that delivers, in a process of its own. */
export type Sender = Child<SenderMessage, SenderCommand> & { readonly replicaId: string };

/** What several senders used together. */
export interface SendersUse {
  readonly firstClaimMs: number;
  readonly calls: ReadonlyMap<string, number>;
  readonly cpuMs: number;
}

/** Starts processes whose attempts in flight add up. The benchmark's clean-up ends them. */
export async function startSenders(
  context: BenchContext,
  options: Omit<SenderSettings, 'replicaId' | 'concurrency'> & {
    readonly senders: number;
    readonly inFlight: number;
  },
): Promise<readonly Sender[]> {
  const { senders, inFlight, ...settings } = options;
  return Promise.all(
    Array.from({ length: senders }, async (_, index) => {
      const replicaId = `sender${index}`;
      const concurrency = Math.floor((inFlight + index) / senders);
      const child = startChild<SenderMessage, SenderCommand>(context, {
        main: 'sender',
        name: 'sender',
        settings: { ...settings, replicaId, concurrency } satisfies SenderSettings,
      });
      await child.next('ready');
      return { ...child, replicaId };
    }),
  );
}

/** Makes a replica in each and starts all of them at once. */
export async function beginSending(senders: readonly Sender[]): Promise<void> {
  await Promise.all(senders.map((sender) => sender.ask({ type: 'open' }, 'opened')));
  for (const sender of senders) sender.send({ type: 'start' });
}

/** Closes their replicas: what is under way is over after it. */
export async function endSending(senders: readonly Sender[]): Promise<SendersUse> {
  const stopped = await Promise.all(senders.map((sender) => sender.ask({ type: 'stop' }, 'stopped')));
  return sumOf(stopped.map(({ use }) => use));
}

function sumOf(uses: readonly SenderUse[]): SendersUse {
  const calls = new Map<string, number>();
  for (const use of uses)
    for (const [name, count] of use.calls) calls.set(name, (calls.get(name) ?? 0) + count);
  return {
    firstClaimMs: Math.min(...uses.map((use) => use.firstClaimMs ?? Infinity)),
    calls,
    cpuMs: uses.reduce((sum, use) => sum + use.cpuMs, 0),
  };
}
