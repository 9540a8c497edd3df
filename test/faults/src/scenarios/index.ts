import type { Scenario } from '../scenario.js';
import { crash } from './r01-crash.js';
import { longPause } from './r02-pause.js';
import { pauseInWrite } from './r02b-pause-in-write.js';
import { replicaClocks } from './r03-replica-clocks.js';
import { databaseClock } from './r03b-database-clock.js';
import { staleRenewal } from './r04-stale-renewal.js';
import { blockedLoop } from './r05-blocked-loop.js';
import { restarts } from './r06-restarts.js';
import { outage } from './r07-outage.js';
import { connections } from './r08-connections.js';
import { partition } from './r09-partition.js';
import { listenLost } from './r09b-listen.js';
import { sweepers } from './r10-sweepers.js';
import { terminalRaces } from './r11-terminal-races.js';
import { massExpiry } from './r12-mass-expiry.js';
import { terminate } from './r13-terminate.js';
import { terminateStreams } from './r13b-streams.js';
import { flapping } from './r14-flapping.js';
import { sameName } from './r15-same-name.js';
import { failover } from './r16-failover.js';
import { noHints, pooler } from './r17-poolers.js';
import { hints } from './r18-hints.js';
import { openTransaction } from './r19-open-transaction.js';
import { slowClients } from './r21-slow-clients.js';
import { idleConnections } from './r22-idle-connections.js';
import { push } from './r23-push.js';
import { poison } from './r24-poison.js';
import { poolExhaustion } from './r26-pool-exhaustion.js';
import { deadlocks } from './r27-deadlocks.js';
import { oldSnapshot } from './r28-old-snapshot.js';
import { retention } from './r30-retention.js';
import { soak } from './r31-soak.js';

/** Every scenario, in the order they run. */
export const scenarios: readonly Scenario[] = [
  crash,
  longPause,
  pauseInWrite,
  replicaClocks,
  databaseClock,
  staleRenewal,
  blockedLoop,
  restarts,
  outage,
  connections,
  partition,
  listenLost,
  sweepers,
  terminalRaces,
  massExpiry,
  terminate,
  terminateStreams,
  flapping,
  sameName,
  failover,
  noHints,
  pooler,
  hints,
  openTransaction,
  slowClients,
  idleConnections,
  push,
  poison,
  poolExhaustion,
  deadlocks,
  oldSnapshot,
  retention,
  soak,
];
