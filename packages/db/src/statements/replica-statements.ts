/** What a replica is doing, as it says itself. `paused`: an operator had it stop taking turns; it can go on. */
export type ReplicaPhase = 'starting' | 'running' | 'paused' | 'draining';

/** Figures of a replica, for people. Totals count from its start. */
export interface ReplicaStats {
  readonly runningTurns: number;
  readonly heldLeases: number;
  /** Open subscriptions and streams. */
  readonly subscribers: number;
  readonly turnsStarted: number;
  /** Turns that ended the task. */
  readonly turnsEnded: number;
  /** Turns that ended because the task waits for its client. */
  readonly turnsParked: number;
  readonly turnsRefused: number;
  readonly leasesLost: number;
  /** Dead turns of other replicas that this one ended. */
  readonly turnsSwept: number;
  readonly pushDelivered: number;
  readonly pushFailed: number;
  readonly pushInFlight: number;
}

/** What a replica writes about itself with every heartbeat. */
export interface ReplicaReport {
  /** `<REPLICA_ID>-<boot>`: the holder of its leases. */
  readonly replicaId: string;
  readonly phase: ReplicaPhase;
  readonly stats: ReplicaStats;
}

/** What does not change while a replica runs. */
export interface ReplicaIdentity {
  readonly replicaId: string;
  /** Of the package. */
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** Between two reports: three missed ones and it is taken for dead. */
  readonly heartbeatMs: number;
}

/** A replica as it is entered into the table. */
export interface ReplicaEntry extends ReplicaIdentity, ReplicaReport {
  /** How long it has run already; default 0. For one whose row was lost. */
  readonly upMs?: number;
}

/** A replica as the table has it. Ages are by the database's clock. */
export interface ReplicaListing extends ReplicaIdentity, ReplicaReport {
  readonly upMs: number;
  /** Since its last report. */
  readonly beatAgeMs: number;
  /** Whether an operator wants it to take no turns. */
  readonly pauseRequested: boolean;
}

/**
 * The table of replicas: who is there, for operators and for each other. Nothing of the protocol rests on it: leases
 * alone say who may write. A replica that is gone stays until `forget`.
 */
export interface ReplicaStatements {
  /**
   * Inserts the row, or replaces it. A pause that was asked for stays; one that says `paused` has been asked, also
   * where its row was lost.
   */
  register(replica: ReplicaEntry): Promise<void>;
  /**
   * Writes the report and reads every replica, in one round trip where the database can. A row that somebody has locked
   * is not waited for: it is read as it was. The answer lacks the replica when its row is gone: register again. At most
   * 1 000, the youngest first, and itself whatever their number.
   */
  report(report: ReplicaReport): Promise<readonly ReplicaListing[]>;
  /** Every replica, the youngest first; at most 1 000. */
  list(): Promise<readonly ReplicaListing[]>;
  /**
   * Asks a replica to take no more turns, or to take them again. False: no such replica; an id that cannot be stored is
   * none.
   */
  requestPause(request: { readonly replicaId: string; readonly paused: boolean }): Promise<boolean>;
  /** Deletes the row: the replica has closed. */
  remove(replicaId: string): Promise<void>;
  /** Deletes at most 100 rows without a report for so long; gives how many. */
  forget(silentMs: number): Promise<number>;
}
