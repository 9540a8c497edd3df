import { Link } from 'wouter-preact';
import type { Overview } from '../api/index.js';
import { AttentionList } from '../parts/attention.js';
import { Chart } from '../parts/chart.js';
import { Page, Section } from '../parts/page.js';
import { ReplicaTable } from '../parts/replica-table.js';
import { Empty, Loading } from '../parts/states.js';
import { Tile } from '../parts/tile.js';
import { connection, overview } from '../state/live.js';
import { count, duration, plural } from '../text/format.js';
import { CHARTS, lastMinute } from '../text/series.js';
import { stateLabel } from '../text/states.js';

/** The cluster at a glance. */
export function OverviewView() {
  const now = overview.value;
  return <Page title="Overview">{now === null ? <Waiting /> : <Cluster now={now} />}</Page>;
}

function Waiting() {
  const { reason } = connection.value;
  if (reason === null) return <Loading what="the state of the cluster" />;
  return (
    <Empty>
      <p>No replica tells how the cluster is: {reason} This page goes on trying.</p>
    </Empty>
  );
}

function Cluster({ now }: { readonly now: Overview }) {
  return (
    <>
      <AttentionList items={now.attention} />
      <Tiles now={now} />
      <Section id="history" title="The last hour" aside={<span class="quiet">as this replica saw it</span>}>
        <div class="charts">
          {CHARTS.map((spec) => (
            <Chart key={spec.id} spec={spec} samples={now.samples} />
          ))}
        </div>
      </Section>
      <Section id="replicas" title="Replicas" aside={<Link to="/replicas">All about the replicas</Link>}>
        <ReplicaTable replicas={now.replicas} mayAct={now.mayAct} brief />
      </Section>
      <Wiring now={now} />
    </>
  );
}

function Tiles({ now }: { readonly now: Overview }) {
  const alive = now.replicas.filter(({ health }) => health === 'alive').length;
  const running = sum(now, (replica) => replica.runningTurns);
  const perMinute = (value: number | null): string => (value === null ? '–' : count(value));
  const started = lastMinute(now, (sample) => sample.startedPerMin);
  const ended = lastMinute(now, (sample) => sample.endedPerMin);
  const { push, totals } = now;
  return (
    <dl class="tiles">
      <Tile
        label="Replicas alive"
        to="/replicas"
        value={`${alive} of ${now.replicas.length}`}
        note={drainNote(now)}
        look={alive < now.replicas.length ? 'bad' : 'plain'}
      />
      <Tile
        label="Turns running"
        to="/tasks?state=TASK_STATE_WORKING"
        value={count(running)}
        note={`${perMinute(started)} started, ${perMinute(ended)} ended per min`}
      />
      <Tile
        label="Tasks not ended"
        value={count(Object.values(now.live).reduce((all, one) => all + one, 0))}
        note={<LiveStates live={now.live} />}
      />
      <Tile
        label="Turns swept"
        value={count(totals.turnsSwept)}
        note={`${plural(totals.leasesLost, 'lease')} lost`}
        look={totals.turnsSwept > 0 ? 'wait' : 'plain'}
      />
      <Tile
        label="Turns refused"
        value={count(totals.turnsRefused)}
        note={`of ${count(totals.turnsStarted + totals.turnsRefused)} asked for`}
      />
      <Tile
        label="Stream subscribers"
        value={count(sum(now, (replica) => replica.subscribers))}
        note={`on ${plural(alive, 'replica')}`}
      />
      {push !== null && (
        <Tile
          label="Push backlog"
          value={count(push.waiting)}
          note={`${count(push.retrying)} retrying, ${count(push.disabled)} disabled`}
          look={push.retrying > 0 ? 'wait' : 'plain'}
        />
      )}
      {push !== null && (
        <Tile
          label="Dead letters"
          value={count(push.deadLetters)}
          note="events given up"
          look={push.deadLetters > 0 ? 'bad' : 'plain'}
        />
      )}
    </dl>
  );
}

function drainNote({ replicas }: Overview): string {
  const draining = replicas.filter(
    ({ phase, pauseRequested }) => phase !== 'running' || pauseRequested,
  ).length;
  const versions = new Set(replicas.map(({ version }) => version)).size;
  const parts = [draining === 0 ? 'none draining' : `${draining} draining or starting`];
  if (versions > 1) parts.push(`${versions} versions`);
  return parts.join(', ');
}

function LiveStates({ live }: { readonly live: Overview['live'] }) {
  const states = Object.entries(live).filter(([, number]) => number > 0);
  if (states.length === 0) return <>none</>;
  return (
    <>
      {states.map(([state, number], index) => (
        <span key={state}>
          {index > 0 && ', '}
          <Link to={`/tasks?state=${encodeURIComponent(state)}`}>
            {count(number)} {stateLabel(state).toLowerCase()}
          </Link>
        </span>
      ))}
    </>
  );
}

function Wiring({ now }: { readonly now: Overview }) {
  const hints = { listen: 'LISTEN/NOTIFY', counter: 'a counter in the file', poll: 'polling' }[now.hints];
  return (
    <Section id="wiring" title="How it is wired">
      <dl class="facts panel">
        <Fact label="Database" value={now.provider} />
        <Fact label="Replicas wake each other by" value={hints} />
        {now.hints === 'listen' && (
          <Fact label="Listening" value={now.listening ? 'yes' : 'no, polling meanwhile'} />
        )}
        <Fact label="A dead replica's turns are swept after" value={duration(now.leaseTtlMs)} />
        <Fact label="Tasks nobody runs and nobody will end" value={count(now.leaseless)} />
        <Fact label="Answered by" value={now.replicaId} />
        <Fact
          label="It last read the table of replicas"
          value={now.knownAgeMs === null ? 'not yet' : `${duration(now.knownAgeMs)} before it answered`}
        />
      </dl>
    </Section>
  );
}

function Fact({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function sum(now: Overview, value: (replica: Overview['replicas'][number]) => number): number {
  return now.replicas.reduce((all, replica) => all + (replica.health === 'alive' ? value(replica) : 0), 0);
}
