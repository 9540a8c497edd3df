/**
 * What the console and the replica say to each other, as JSON, under `/console/api`. Ages and times of rows are by the
 * clock of the database; `...AtMs` are milliseconds since 1970.
 *
 * | request | answer |
 * | --- | --- |
 * | `GET overview` | {@link Overview} |
 * | `GET live` | server-sent events: `overview` with an {@link Overview}, at once and when it changes |
 * | `GET live?task=<id>&task=<id>...` | the same, and `task` with a {@link TaskChange} for each of at most 200 tasks |
 * | `GET tasks?state=&tenant=&owner=&holder=&context=&olderThanMs=&youngerThanMs=&cursor=&limit=` | {@link TaskPage}; `state` may repeat |
 * | `GET tasks/<id>` | {@link TaskDetail}, or 404 |
 * | `GET tasks/<id>/events?after=&limit=` | {@link EventPage}, or 404 |
 * | `POST tasks/<id>/cancel`, `POST tasks/<id>/release` | {@link ActionOutcome} |
 * | `POST tasks/<id>/retry-push` with `{ "configId": "..." }` or without | {@link ActionOutcome} |
 * | `POST replicas/<id>/drain`, `POST replicas/<id>/resume` | {@link ActionOutcome} |
 *
 * Errors are `{ error: { code, message, status } }` as in the rest of the server. 401: a token is needed, as
 * `Authorization: Bearer`; 403: this token may look but not act, or the page is of another origin.
 */
export type TaskState = string;

/** A replica, and whether it is alive by its heartbeat. */
export interface ReplicaInfo {
  readonly replicaId: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** `silent`: it missed three heartbeats; its leases are swept when they expire. */
  readonly health: 'alive' | 'silent';
  readonly phase: 'starting' | 'running' | 'paused' | 'draining';
  /** An operator asked it to take no turns, and it may not know yet. */
  readonly pauseRequested: boolean;
  readonly upMs: number;
  readonly beatAgeMs: number;
  readonly heartbeatMs: number;
  readonly runningTurns: number;
  readonly heldLeases: number;
  readonly subscribers: number;
  readonly pushInFlight: number;
  /** Totals since its start. */
  readonly totals: Totals;
}

/** What is counted, since the start of a replica or, in an {@link Overview}, of those in the table. */
export interface Totals {
  readonly turnsStarted: number;
  readonly turnsEnded: number;
  readonly turnsParked: number;
  readonly turnsRefused: number;
  readonly turnsSwept: number;
  readonly leasesLost: number;
  readonly pushDelivered: number;
  readonly pushFailed: number;
}

/** One moment of the charts. Rates are per minute, over the time since the sample before. */
export interface Sample {
  readonly atMs: number;
  readonly replicas: number;
  readonly running: number;
  readonly subscribers: number;
  readonly startedPerMin: number;
  readonly endedPerMin: number;
  readonly parkedPerMin: number;
  readonly refusedPerMin: number;
  readonly sweptPerMin: number;
  readonly pushDeliveredPerMin: number;
  readonly pushFailedPerMin: number;
}

/** Something that a person should look at. */
export interface Attention {
  readonly severity: 'warning' | 'critical';
  /** A stable word, such as `replica_silent`. */
  readonly code: string;
  readonly message: string;
  /** Where to look: a path of the console, such as `/tasks?state=TASK_STATE_WORKING`. */
  readonly link?: string;
}

/** The state of the whole cluster as the answering replica knows it. */
export interface Overview {
  readonly atMs: number;
  /** Who answers. */
  readonly replicaId: string;
  readonly provider: 'memory' | 'sqlite' | 'postgresql' | 'mysql';
  /** How replicas wake each other. */
  readonly hints: 'listen' | 'counter' | 'poll';
  readonly listening: boolean;
  readonly leaseTtlMs: number;
  /** Whether this request may act; false hides the buttons. */
  readonly mayAct: boolean;
  /** Since this replica last read the table of replicas; null: not yet. */
  readonly knownAgeMs: number | null;
  readonly replicas: readonly ReplicaInfo[];
  /** Tasks per state, of those that have not ended. */
  readonly live: Readonly<Record<TaskState, number>>;
  readonly leaseless: number;
  readonly push: {
    readonly waiting: number;
    readonly retrying: number;
    readonly disabled: number;
    readonly deadLetters: number;
  } | null;
  readonly totals: Totals;
  /** The last hour at most, the oldest first, as this replica saw it. */
  readonly samples: readonly Sample[];
  /** The most urgent first; empty: all is well. */
  readonly attention: readonly Attention[];
}

/** Who runs a task. */
export interface LeaseInfo {
  readonly holder: string;
  readonly epoch: number;
  readonly pending: boolean;
  /** When this was read; 0 or less: expired. */
  readonly remainingMs: number;
  readonly cancelAgeMs: number | null;
}

/** A row of the list. */
export interface TaskSummary {
  readonly taskId: string;
  readonly contextId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly state: TaskState;
  readonly version: number;
  readonly createdAtMs: number;
  readonly ageMs: number;
  readonly idleMs: number;
  readonly lease: LeaseInfo | null;
}

/** A page of the list. */
export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  /** For the next page; null: there is none. */
  readonly nextCursor: string | null;
}

/** A listed task changed. `gone`: it was deleted. */
export interface TaskChange {
  readonly taskId: string;
  readonly gone: boolean;
  readonly state?: TaskState;
  readonly version?: number;
  readonly lease?: { readonly holder: string; readonly epoch: number } | null;
}

/** A webhook of a task. */
export interface PushInfo {
  readonly configId: string;
  /** Without its query, where receivers put secrets. */
  readonly url: string;
  readonly status: 'active' | 'disabled' | 'done';
  /** The seq up to which everything was delivered or given up. */
  readonly position: number;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly holder: string | null;
  readonly dueInMs: number | null;
  readonly dead: readonly {
    readonly seq: number;
    readonly attempts: number;
    readonly error: string;
    readonly ageMs: number;
    readonly status: 'dead' | 'queued' | 'delivered';
  }[];
}

/** One task. */
export interface TaskDetail {
  readonly task: TaskSummary;
  /** The Task as a client of A2A 1.0 gets it, metadata included. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly push: readonly PushInfo[];
  /** Whether retention has deleted its events: the document is complete, the timeline is not. */
  readonly pruned: boolean;
}

/** An event of the timeline. */
export interface EventInfo {
  readonly seq: number;
  readonly kind: string;
  readonly holder: string;
  readonly epoch: number;
  readonly createdAtMs: number;
  /** The StreamResponse of the event, or the Message of the user. */
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A page of the timeline. */
export interface EventPage {
  readonly events: readonly EventInfo[];
  /** The task's version when the page was read: more events follow while the last seq is below it. */
  readonly version: number;
}

/** What became of an action. */
export interface ActionOutcome {
  /** Whether it did what it says. */
  readonly ok: boolean;
  /** A stable word: `canceled`, `failed`, `dropped`, `not_found`, `busy`, `ended`, `draining`, `resumed`, `queued`. */
  readonly outcome: string;
  /** For people. */
  readonly message: string;
}
