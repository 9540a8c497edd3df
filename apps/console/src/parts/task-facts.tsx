import type { ComponentChildren } from 'preact';
import type { ReadTask } from '../state/read-task.js';
import { askFor, cancelTask, releaseLease } from '../state/actions.js';
import { overview } from '../state/live.js';
import { NO_FILTER, searchOf } from '../state/task-filter.js';
import { tasksHeldBy } from '../state/paths.js';
import { objectOf, textOf } from '../text/parts.js';
import { hasEnded } from '../text/states.js';
import { Badge, StateBadge } from './badge.js';
import { Id } from './id.js';
import { Ago, Countdown } from './time.js';

/** What is known of a task at a glance, and what can be done with it. */
export function TaskFacts(props: {
  readonly data: ReadTask;
  readonly mayAct: boolean;
  readonly reload: () => void;
}) {
  const { data, mayAct, reload } = props;
  const { task } = data.detail;
  const { taskId, contextId, tenant, owner, state, version, createdAtMs, ageMs, idleMs } = task;
  return (
    <div class="task-head panel">
      <div class="task-state">
        <StateBadge state={state} />
        <Reason data={data} />
        {mayAct && <Buttons data={data} reload={reload} />}
      </div>
      <dl class="facts">
        <Fact label="Task" wide>
          <Id value={taskId} keep={200} copy="the task id" />
        </Fact>
        <Fact label="Context" wide>
          <Id
            value={contextId}
            keep={200}
            to={`/tasks${searchOf({ ...NO_FILTER, context: contextId })}`}
            copy="the context id"
          />
        </Fact>
        <Fact label="Owner">
          <Id value={owner} keep={60} to={`/tasks${searchOf({ ...NO_FILTER, owner })}`} />
        </Fact>
        {tenant !== '' && (
          <Fact label="Tenant">
            <Id value={tenant} keep={60} to={`/tasks${searchOf({ ...NO_FILTER, tenant })}`} />
          </Fact>
        )}
        <Fact label="Created">
          <Ago atMs={createdAtMs} />
        </Fact>
        <Fact label="Last event">
          <span>
            <Ago atMs={createdAtMs + ageMs - idleMs} />, number {version}
          </span>
        </Fact>
        <Lease data={data} />
      </dl>
    </div>
  );
}

function Fact(props: {
  readonly label: string;
  /** It has a line of its own where there is little room. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}) {
  const { label, wide = false, children } = props;
  return (
    <div class={wide ? 'fact-wide' : undefined}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Lease({ data }: { readonly data: ReadTask }) {
  const { lease, state } = data.detail.task;
  if (lease === null)
    return (
      <Fact label="Lease">
        <span class="quiet">{hasEnded(state) ? 'none, the task has ended' : 'none, no turn is running'}</span>
      </Fact>
    );
  const silent = overview.value?.replicas.some(
    ({ replicaId, health }) => replicaId === lease.holder && health === 'silent',
  );
  return (
    <>
      <Fact label="Holder" wide>
        <Id value={lease.holder} keep={60} to={tasksHeldBy(lease.holder)} copy="the holder" />
        {silent && <Badge tone="bad" text="Silent" />}
      </Fact>
      <Fact label="Epoch">
        <span>
          {lease.epoch}
          {lease.pending && <span class="quiet">, the turn has said nothing yet</span>}
        </span>
      </Fact>
      <Fact label="Lease time left">
        {Number.isFinite(lease.remainingMs) ? (
          <Countdown until={data.readAt + lease.remainingMs} over="expired, to be swept" />
        ) : (
          <span class="quiet">not read yet</span>
        )}
        {lease.cancelAgeMs !== null && <Badge tone="wait" text="Cancel requested" />}
      </Fact>
    </>
  );
}

/** Why the cluster ended a task, where it did. */
function Reason({ data }: { readonly data: ReadTask }) {
  const own = objectOf(objectOf(data.detail.document['metadata'])['a2a-cluster']);
  const reason = textOf(own['reason']);
  return reason === '' ? null : <span class="reason">Ended by the cluster: {REASONS[reason] ?? reason}</span>;
}

const REASONS: Readonly<Record<string, string>> = {
  replica_lost: 'its replica was lost (replica_lost)',
  shutdown: 'its replica shut down (shutdown)',
  turn_incomplete: 'the agent stopped without an end (turn_incomplete)',
};

function Buttons({ data, reload }: { readonly data: ReadTask; readonly reload: () => void }) {
  const { taskId, state, lease } = data.detail.task;
  const ask = (action: ReturnType<typeof cancelTask>): void => askFor({ ...action, after: reload });
  return (
    <div class="task-buttons">
      {lease !== null && (
        <button type="button" class="button" onClick={() => ask(releaseLease(taskId, lease.holder))}>
          Release the lease
        </button>
      )}
      {!hasEnded(state) && (
        <button type="button" class="button button-danger-quiet" onClick={() => ask(cancelTask(taskId))}>
          Cancel the task
        </button>
      )}
    </div>
  );
}
