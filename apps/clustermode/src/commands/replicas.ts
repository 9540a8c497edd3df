import { createSystemClock, errorText, isClusterError, sleep } from '@a2a-cluster/core';
import type { ClusterOperator } from '@a2a-cluster/cluster';
import type { ReplicaListing } from '@a2a-cluster/db';
import { isSilent } from '../console/views.js';
import { EXIT_FAILED, EXIT_OK } from '../exit-code.js';
import type { Row } from '../table.js';
import { withOperator, type DatabaseCommandOptions, type ListCommandOptions } from './database.js';
import { paint, shownMs } from './shown.js';
import { show, untilStopped } from './watch.js';

/** What `replicas drain` and `replicas resume` are told. */
export interface PauseOptions extends Pick<DatabaseCommandOptions, 'config' | 'json'> {
  /** `<REPLICA_ID>-<boot>`, or the `REPLICA_ID` where one replica alone has it. */
  readonly name: string;
  readonly pause: boolean;
  /** Wait until it runs no turn any more. */
  readonly wait: boolean;
}

/** How often is looked while a replica drains; it says itself how it is with each heartbeat. */
const LOOK_MS = 1_000;

/** Prints the replicas, the youngest first; what they do is as of their last heartbeat. */
export function replicas(options: ListCommandOptions): Promise<number> {
  const { config, limit, json, everyMs } = options;
  return withOperator(config, (operator) =>
    show({
      ...{ json, everyMs, title: 'Replicas' },
      async read() {
        const found = (await operator.replicas.list()).slice(0, limit);
        const none = 'There is no replica.';
        return { rows: found.map(replicaRow), shown: found.map(shownReplica), none, paint };
      },
    }),
  );
}

/** Has a replica take no more turns, or take them again. */
export function pauseReplica(options: PauseOptions): Promise<number> {
  const { config, name, pause, wait } = options;
  return withOperator(config, async ({ replicas: operator }) => {
    const found = matching(await operator.list(), name);
    const [replica] = found;
    if (replica === undefined) return say(options, { outcome: 'not_found', text: `There is no replica ${name}.` });
    if (found.length > 1) {
      const names = found.map(({ replicaId }) => replicaId).join(', ');
      return say(options, { outcome: 'ambiguous', text: `Several replicas are called so, name one: ${names}.` });
    }
    const { replicaId } = replica;
    const asked = pause ? await operator.drain(replicaId) : await operator.resume(replicaId);
    if (!asked) return say(options, { outcome: 'not_found', text: `${replicaId} has closed.` });
    if (pause && wait) return waitUntilIdle(operator, { ...options, replicaId });
    const text = pause
      ? `${replicaId} takes no more turns from its next heartbeat on; those that run go on.`
      : `${replicaId} takes turns again from its next heartbeat on, unless it is closing.`;
    return say(options, { outcome: pause ? 'draining' : 'resumed', text });
  });
}

/** By its whole name; else by its REPLICA_ID, those alive before those that are silent. */
function matching(all: readonly ReplicaListing[], name: string): readonly ReplicaListing[] {
  const exact = all.filter(({ replicaId }) => replicaId === name);
  if (exact.length > 0) return exact;
  const named = all.filter(({ replicaId }) => replicaId.replace(/-[^-]*$/, '') === name);
  const alive = named.filter((replica) => !isSilent(replica));
  return alive.length > 0 ? alive : named;
}

interface Said {
  readonly outcome: 'draining' | 'drained' | 'closed' | 'resumed' | 'not_found' | 'ambiguous' | 'silent' | 'stopped';
  readonly text: string;
  readonly runningTurns?: number;
}

const GOOD: ReadonlySet<Said['outcome']> = new Set(['draining', 'drained', 'closed', 'resumed']);

function say({ json, name }: Pick<PauseOptions, 'json' | 'name'>, { text, ...said }: Said): number {
  process.stdout.write(`${json ? JSON.stringify({ replica: name, ...said }) : text}\n`);
  return GOOD.has(said.outcome) ? EXIT_OK : EXIT_FAILED;
}

async function waitUntilIdle(
  operator: ClusterOperator['replicas'],
  options: PauseOptions & { readonly replicaId: string },
): Promise<number> {
  const { replicaId } = options;
  const clock = createSystemClock();
  const over = untilStopped();
  let before = '';
  while (!over.aborted) {
    const said = await progress(operator, replicaId);
    if (said.text !== before) {
      const code = say(options, said);
      if (said.outcome !== 'draining') return code;
    }
    before = said.text;
    await sleep({ clock, delayMs: LOOK_MS, signal: over });
  }
  return say(options, { outcome: 'stopped', text: `Not waited to the end: ${replicaId} drains all the same.` });
}

async function progress(operator: ClusterOperator['replicas'], replicaId: string): Promise<Said> {
  try {
    return progressOf((await operator.list()).find((replica) => replica.replicaId === replicaId), replicaId);
  } catch (error) {
    if (!isClusterError(error)) throw error;
    return { outcome: 'draining', text: `The database does not answer: ${errorText(error)}` };
  }
}

function progressOf(replica: ReplicaListing | undefined, replicaId: string): Said {
  if (replica === undefined) return { outcome: 'closed', text: `${replicaId} has closed.` };
  const { phase, stats } = replica;
  const { runningTurns } = stats;
  if (isSilent(replica))
    return { outcome: 'silent', text: `${replicaId} is silent: its turns are swept when their leases expire.` };
  if (phase === 'running' || phase === 'starting')
    return { outcome: 'draining', text: `${replicaId} does not know yet.`, runningTurns };
  if (runningTurns === 0) return { outcome: 'drained', text: `${replicaId} runs no turn any more.`, runningTurns };
  const turns = runningTurns === 1 ? '1 turn' : `${runningTurns} turns`;
  return { outcome: 'draining', text: `${replicaId} still runs ${turns}.`, runningTurns };
}

function replicaRow(replica: ReplicaListing): Row {
  const { replicaId, version, host, pid, phase, pauseRequested, heartbeatMs, stats } = replica;
  return {
    ...{ replicaId, health: healthOf(replica), phase, pauseRequested, version, host, pid, heartbeatMs },
    ...{ upMs: Math.round(replica.upMs), beatAgeMs: Math.round(replica.beatAgeMs) },
    ...stats,
  };
}

function shownReplica(replica: ReplicaListing): Row {
  const { replicaId, version, host, pid, phase, pauseRequested, stats } = replica;
  const { runningTurns, heldLeases, subscribers, turnsSwept } = stats;
  return {
    ...{ replica: replicaId, health: healthOf(replica) },
    phase: pauseRequested && phase === 'running' ? 'pausing' : phase,
    ...{ turns: runningTurns, leases: heldLeases, streams: subscribers, swept: turnsSwept },
    ...{ 'last heard': shownMs(replica.beatAgeMs), up: shownMs(replica.upMs), version, host: `${host}:${pid}` },
  };
}

function healthOf(replica: ReplicaListing): 'alive' | 'silent' {
  return isSilent(replica) ? 'silent' : 'alive';
}
