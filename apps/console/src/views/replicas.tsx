import { Page } from '../parts/page.js';
import { ReplicaTable } from '../parts/replica-table.js';
import { Loading } from '../parts/states.js';
import { overview } from '../state/live.js';
import { duration } from '../text/format.js';

/** All that is known of the replicas. */
export function ReplicasView() {
  const now = overview.value;
  return (
    <Page title="Replicas">
      {now === null ? (
        <Loading what="the replicas" />
      ) : (
        <>
          <p class="lead">
            A replica that misses three heartbeats is silent; its turns are swept when their leases have
            expired, {duration(now.leaseTtlMs)} after its last heartbeat at the latest. A drained replica
            takes no new turns and goes on with those it has. Totals count since its start.
          </p>
          <ReplicaTable replicas={now.replicas} mayAct={now.mayAct} />
        </>
      )}
    </Page>
  );
}
