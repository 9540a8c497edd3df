import type { ReplicaInfo } from '../api/index.js';
import { askFor, drainReplica, resumeReplica } from '../state/actions.js';
import { serverNow } from '../state/clock.js';
import { overview } from '../state/live.js';
import { tasksHeldBy } from '../state/paths.js';
import { ago, count, duration, shorten } from '../text/format.js';
import { Badge } from './badge.js';
import { Id } from './id.js';
import { Empty } from './states.js';
import { Table, type Column } from './table.js';

/** The replicas, those that are silent first. `brief`: without what only their own page needs. */
export function ReplicaTable(props: {
  readonly replicas: readonly ReplicaInfo[];
  readonly mayAct: boolean;
  readonly brief?: boolean;
}) {
  const { replicas, mayAct, brief = false } = props;
  if (replicas.length === 0)
    return (
      <Empty>
        <p>No replica has written its heartbeat yet. The first comes within seconds of a start.</p>
      </Empty>
    );
  const columns = [...COLUMNS, ...(brief ? [] : MORE), ...(mayAct ? [ACTION] : [])];
  return (
    <Table
      caption="Replicas"
      columns={columns}
      rows={[...replicas].sort(silentFirst)}
      keyOf={(replica) => replica.replicaId}
      marked={(replica) => replica.health === 'silent'}
    />
  );
}

function silentFirst(one: ReplicaInfo, other: ReplicaInfo): number {
  if (one.health !== other.health) return one.health === 'silent' ? -1 : 1;
  return one.replicaId.localeCompare(other.replicaId);
}

/** Whether it takes no turns, or soon will not. */
function isDraining({ phase, pauseRequested }: ReplicaInfo): boolean {
  return pauseRequested || phase === 'paused' || phase === 'draining';
}

/** What it is doing, in a word. */
export function ReplicaState({ replica }: { readonly replica: ReplicaInfo }) {
  if (replica.health === 'silent') return <Badge tone="bad" text="Silent" />;
  if (replica.phase === 'starting') return <Badge tone="wait" text="Starting" />;
  if (replica.phase === 'draining') return <Badge tone="wait" text="Stopping" />;
  if (replica.phase === 'paused')
    return <Badge tone="wait" text={replica.pauseRequested ? 'Drained' : 'Resuming'} />;
  return replica.pauseRequested ? (
    <Badge tone="wait" text="Draining" />
  ) : (
    <Badge tone="good" text="Running" />
  );
}

/** When a replica was last heard: the age it had when it was told, and the time since then. */
function Heartbeat({ replica }: { readonly replica: ReplicaInfo }) {
  const told = overview.value?.atMs ?? 0;
  return <span class="one-line">{ago(replica.beatAgeMs + Math.max(0, serverNow() - told))}</span>;
}

/** What a silent replica had is what it said last; it has it no more. */
function Figure({ replica, value }: { readonly replica: ReplicaInfo; readonly value: number }) {
  if (replica.health === 'alive') return <>{count(value)}</>;
  return (
    <span class="quiet one-line" title="When it was last heard">
      was {count(value)}
    </span>
  );
}

const COLUMNS: readonly Column<ReplicaInfo>[] = [
  {
    title: 'Replica',
    cell: ({ replicaId, host, pid, upMs }) => (
      <>
        <Id value={replicaId} to={tasksHeldBy(replicaId)} keep={25} />
        <span class="below">
          process {pid} on {shorten(host, 20)}, up {duration(upMs)}
        </span>
      </>
    ),
  },
  { title: 'State', cell: (replica) => <ReplicaState replica={replica} /> },
  { title: 'Heartbeat', cell: (replica) => <Heartbeat replica={replica} /> },
  {
    title: 'Turns',
    numeric: true,
    cell: (replica) => <Figure replica={replica} value={replica.runningTurns} />,
  },
  {
    title: 'Leases',
    numeric: true,
    cell: (replica) => <Figure replica={replica} value={replica.heldLeases} />,
  },
  {
    title: 'Subscribers',
    numeric: true,
    cell: (replica) => <Figure replica={replica} value={replica.subscribers} />,
  },
  { title: 'Version', cell: ({ version }) => version },
];

const MORE: readonly Column<ReplicaInfo>[] = [
  { title: 'Started', numeric: true, cell: ({ totals }) => count(totals.turnsStarted) },
  { title: 'Swept', numeric: true, cell: ({ totals }) => count(totals.turnsSwept) },
  { title: 'Refused', numeric: true, cell: ({ totals }) => count(totals.turnsRefused) },
  { title: 'Leases lost', numeric: true, cell: ({ totals }) => count(totals.leasesLost) },
];

const ACTION: Column<ReplicaInfo> = {
  title: 'Actions',
  plain: true,
  cell: (replica) => {
    const { replicaId, health, phase } = replica;
    if (health === 'silent' || phase === 'draining') return null;
    const draining = isDraining(replica);
    const action = draining ? resumeReplica(replicaId) : drainReplica(replicaId);
    return (
      <button type="button" class="button button-small" onClick={() => askFor(action)}>
        {draining ? 'Resume' : 'Drain'}
        <span class="sr-only"> {replicaId}</span>
      </button>
    );
  },
};
