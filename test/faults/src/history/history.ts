import type { TestProvider } from '@a2a-cluster/testing';

/** The layout of a history; a file of another layout is refused. */
export const HISTORY_FORMAT = 2;

/**
 * Everything that was observed of a cluster while a scenario ran: what the checker judges, and what a failed run
 * leaves in a file. All moments (`..AtMs`) are milliseconds since 1970 by the clock of the harness, which is
 * monotonic within a run; moments of the database are translated into it by {@link History.databaseAheadMs}.
 */
export interface History {
  readonly format: typeof HISTORY_FORMAT;
  readonly scenario: string;
  readonly database: TestProvider;
  readonly seed: number;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly settings: Settings;
  /** How far the database's clock was ahead of the harness when the tables were read. */
  readonly databaseAheadMs: number;
  /** False: the scenario stepped the database's clock, so no moment of a table says anything about order or time. */
  readonly databaseClockIsSteady: boolean;
  /** Whether the scenario waited until no webhook that is active had anything to come. */
  readonly pushesAwaited: boolean;
  readonly replicas: readonly ReplicaRecord[];
  readonly faults: readonly FaultRecord[];
  readonly tables: Tables;
  readonly streams: readonly StreamRecord[];
  readonly calls: readonly CallRecord[];
  readonly pushes: readonly PushRecord[];
  readonly logs: readonly LogRecord[];
  readonly samples: readonly ResourceSample[];
}

/** The intervals all replicas ran with, in milliseconds. */
export interface Settings {
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  readonly marginMs: number;
  readonly renewalTimeoutMs: number;
  readonly sweepIntervalMs: number;
  readonly cancelGraceMs: number;
  readonly drainTimeoutMs: number;
  /** The longest blackout of the database that a live turn survives (S of the specification). */
  readonly survivableMs: number;
  /** How long the claim of a sender lives without a sign of it. */
  readonly pushClaimTtlMs: number;
  /** How long one attempt of a delivery may take. */
  readonly pushTimeoutMs: number;
  readonly pushPollMs: number;
  /** How long ended tasks keep their events. Absent: for longer than any scenario lasts. */
  readonly eventRetentionMs?: number;
}

/** One boot of a replica. */
export interface ReplicaRecord {
  /** Unique in a run, also when two boots have the same `REPLICA_ID`. */
  readonly name: string;
  /** What it is called in the tables, or null when it never said so. */
  readonly holder: string | null;
  readonly startedAtMs: number;
  /** When its end was seen, or null when the harness ended it after everything had been read. */
  readonly exitedAtMs: number | null;
  /** The exit code, or the name of the signal that ended it. */
  readonly exit: number | string | null;
  /** Lines on standard error and lines of the log that are not JSON. */
  readonly strayLines: readonly string[];
}

/** What a fault is, and so what it excuses. */
export type FaultKind =
  /** The process ended without a warning. */
  | 'kill'
  /** The process did not run from `fromMs` to `toMs` (SIGSTOP, SIGCONT). */
  | 'stop'
  /** The process was told to drain (SIGTERM). */
  | 'terminate'
  /** The process could not reach its database, or only one way, or late. */
  | 'cut_off'
  /** Its event loop did not turn. */
  | 'blocked'
  /** Its lease rows were locked by somebody else. */
  | 'rows_locked'
  /** Its leases were expired by hand, as an operator's release does: it learns of that by its next heartbeat. */
  | 'released'
  /** Statements failed, lost their answers or were slow. */
  | 'statements'
  /** Only its connection for hints was hurt: excuses nothing but latency. */
  | 'hints'
  /** The database did not answer anybody, or took no writes. */
  | 'database_down'
  /** Connections were ended while the database went on. */
  | 'connections'
  /** A clock was wrong. */
  | 'clock'
  /** Rows were made unreadable. */
  | 'poison'
  /** A client or webhook misbehaved: excuses nothing of the cluster. */
  | 'client';

/** Something the harness did to the cluster. */
export interface FaultRecord {
  readonly kind: FaultKind;
  /** The name of the replica it was done to, or null when it was done to all. */
  readonly replica: string | null;
  readonly fromMs: number;
  /** When it was over, or null when it was for good. */
  readonly toMs: number | null;
  readonly detail: string;
}

/** Rows as they stood at the end. */
export interface Tables {
  readonly tasks: readonly TaskRow[];
  readonly events: readonly EventRow[];
  readonly leases: readonly LeaseRow[];
  readonly pushConfigs: readonly PushConfigRow[];
  readonly deadLetters: readonly DeadLetterRow[];
}

/** A row of `tasks`. */
export interface TaskRow {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly contextId: string;
  readonly state: string;
  readonly version: number;
}

/** A row of `task_events`; sorted by task and seq. */
export interface EventRow {
  readonly taskId: string;
  readonly seq: number;
  readonly kind: string;
  readonly payload: string;
  readonly writeId: string;
  readonly messageId: string | null;
  readonly holder: string;
  readonly epoch: number;
  /** By the harness's clock, see {@link History.databaseAheadMs}. */
  readonly createdAtMs: number;
  /** When retention deleted it, where the scenario kept what was deleted. Absent: it is in the log. */
  readonly prunedAtMs?: number;
}

/** A row of `task_leases`. */
export interface LeaseRow {
  readonly taskId: string;
  readonly holder: string;
  readonly epoch: number;
  readonly pending: boolean;
  readonly expiresAtMs: number;
}

/** A row of `push_notification_configs`. */
export interface PushConfigRow {
  readonly taskId: string;
  readonly configId: string;
  readonly url: string;
  readonly createdAtMs: number;
  /** `active`, `disabled` or `done`. */
  readonly status: string;
  /** The seq of the last event that needs no more attempts. */
  readonly position: number;
  /** Attempts of the next event that failed. */
  readonly attempts: number;
  /** Who delivers it; null: nobody. */
  readonly holder: string | null;
  readonly claim: number;
}

/** A row of `push_dead_letters`. */
export interface DeadLetterRow {
  readonly taskId: string;
  readonly configId: string;
  readonly seq: number;
  readonly attempts: number;
  readonly error: string;
}

/** One streaming call and everything it said. */
export interface StreamRecord {
  readonly id: string;
  readonly method: 'SendStreamingMessage' | 'SubscribeToTask';
  readonly replica: string;
  readonly owner: string;
  /** The task that was asked for, or the one the answer named; null: the stream never named one. */
  readonly taskId: string | null;
  /** The message that was sent, for a streaming send. */
  readonly messageId: string | null;
  readonly openedAtMs: number;
  readonly frames: readonly Frame[];
  /** Null while it was still open when the harness stopped listening. */
  readonly ended: StreamEnd | null;
}

/** One SSE frame: the JSON of its result. */
export interface Frame {
  readonly atMs: number;
  readonly event: WireEvent;
}

/** How a stream ended. */
export interface StreamEnd {
  readonly atMs: number;
  /**
   * `complete`: the server ended the response. `error`: it sent or answered an error. `broken`: the connection broke.
   * `left`: the client went away.
   */
  readonly how: 'complete' | 'error' | 'broken' | 'left';
  readonly error?: WireError;
  readonly detail?: string;
}

/** A StreamResponse as it stands on the wire. */
export interface WireEvent {
  readonly task?: WireTask;
  readonly message?: { readonly messageId?: string; readonly parts?: readonly WirePart[] };
  readonly statusUpdate?: {
    readonly taskId: string;
    readonly status: WireStatus;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly append?: boolean;
    readonly lastChunk?: boolean;
    readonly artifact: { readonly artifactId: string; readonly parts: readonly WirePart[] };
  };
}

/** A part with text. */
export interface WirePart {
  readonly text?: string;
}

/** A status on the wire. */
export interface WireStatus {
  readonly state: string;
  readonly message?: { readonly parts: readonly WirePart[] };
}

/** A Task on the wire. */
export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: WireStatus;
  readonly history?: readonly { readonly messageId: string; readonly role: string }[];
  readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly WirePart[] }[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A JSON-RPC error on the wire; `reason` and `retryAfterMs` are those of its ErrorInfo metadata, if any. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly reason?: string;
  readonly retryAfterMs?: string;
}

/** One call that is answered once. */
export interface CallRecord {
  readonly method: string;
  readonly replica: string;
  readonly owner: string;
  readonly taskId: string | null;
  readonly messageId: string | null;
  readonly sentAtMs: number;
  /** Null: no answer came (the connection broke, or the call was given up). */
  readonly answeredAtMs: number | null;
  readonly error: WireError | null;
  /** The state of the Task that was answered, if one was. */
  readonly state: string | null;
  /** What the caller must be told, whatever else happens: `not_found` for a task of somebody else. */
  readonly must: 'not_found' | null;
}

/** One attempt of a delivery, as the webhook saw it. */
export interface PushRecord {
  /** When all of it had come. */
  readonly atMs: number;
  /** The last segment of the path of the webhook: one for each config. */
  readonly hook: string;
  readonly taskId: string;
  /** What its header calls it; null: there was none. */
  readonly id: string | null;
  readonly event: WireEvent;
  /** Of the body. */
  readonly digest: string;
  /**
   * The status it was answered with. `hang`: never. `reset`: the connection was. `gone`: the sender did not wait for
   * the answer. Null while it is under way.
   */
  readonly answer: number | 'hang' | 'reset' | 'gone' | null;
  readonly answeredAtMs: number | null;
}

/** A line of a replica's log. */
export interface LogRecord {
  /** When the harness read it. */
  readonly atMs: number;
  readonly replica: string;
  readonly level: string;
  readonly msg: string;
  readonly taskId?: string;
  readonly epoch?: number;
  /** The rest of the line. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What a replica used at a moment. */
export interface ResourceSample {
  readonly atMs: number;
  readonly replica: string;
  readonly residentBytes: number;
  readonly fileHandles: number;
}

/** One broken promise. */
export interface Violation {
  /** `I1` to `I12`, or the id of the scenario for what only it expects. */
  readonly invariant: string;
  readonly text: string;
  /** The task whose merged history shows it. */
  readonly taskId?: string;
}
