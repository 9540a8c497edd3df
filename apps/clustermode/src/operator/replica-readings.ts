import type { ClusterStatus } from '@a2a-cluster/cluster';
import type { Reading } from './metrics.js';

/** What a replica says of itself, as metrics. What is not known yet is left out. */
export function replicaReadings(status: ClusterStatus): readonly Reading[] {
  const { stream } = status;
  const all = [
    gauge('ready', 'Whether new work may be sent here: 1 or 0', status.ready ? 1 : 0),
    gauge('running_turns', 'Turns that run in this replica', status.runningTurns),
    gauge('held_leases', 'Leases that this replica renews', status.heldLeases),
    gauge('heartbeat_age_seconds', 'Age of the last answered heartbeat', inSeconds(status.lastBeatAgeMs)),
    gauge('database_age_seconds', 'Age of the last answer of the database', inSeconds(status.databaseAgeMs)),
    gauge('stream_tails', 'Subscribers that follow a task here', stream.tails),
    listening(stream),
    gauge(
      'event_loop_stall_seconds',
      'The longest time this process ran nothing, lately',
      status.eventLoopDelayMs / 1_000,
    ),
  ];
  return all.filter((reading): reading is Reading => reading !== undefined);
}

/** Where the mode is not `listen` there is no such connection, and 0 is no fault. */
function listening({ mode, listening: stands }: ClusterStatus['stream']): Reading {
  const help = 'Whether hints of other replicas arrive by a connection that stands: 1 or 0';
  return {
    type: 'gauge',
    name: 'a2a_cluster_hints_listening',
    help,
    value: stands ? 1 : 0,
    labels: { mode },
  };
}

function gauge(name: string, help: string, value: number | undefined): Reading | undefined {
  return value === undefined ? undefined : { type: 'gauge', name: `a2a_cluster_${name}`, help, value };
}

function inSeconds(ms: number | null): number | undefined {
  return ms === null ? undefined : ms / 1_000;
}
