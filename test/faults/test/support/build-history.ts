import { Role, TaskState, type Message, type Part, type Task } from '@a2a-js/sdk';
import {
  clusterStatus,
  encodeEvent,
  failedStatus,
  projectAll,
  stateName,
  type TaskEvent,
} from '@a2a-cluster/core';
import { readRow } from '../../src/checker/read-row.js';
import type {
  CallRecord,
  DeadLetterRow,
  EventRow,
  FaultRecord,
  History,
  LeaseRow,
  LogRecord,
  PushConfigRow,
  PushRecord,
  ReplicaRecord,
  ResourceSample,
  Settings,
  StreamEnd,
  StreamRecord,
  TaskRow,
  WireEvent,
} from '../../src/history/history.js';

type Open<T> = { -readonly [Key in keyof T]: T[Key] };

/** When every built history begins. */
export const BEGAN_MS = 1_700_000_000_000;

/** The state of a name without its prefix. */
export function state(name: string): TaskState {
  return TaskState[`TASK_STATE_${name}` as keyof typeof TaskState];
}

/** The tests name moments that follow from these, so they are their own. */
const SETTINGS: Settings = {
  ...{ ttlMs: 3_000, heartbeatMs: 500, marginMs: 1_000, renewalTimeoutMs: 600 },
  ...{ sweepIntervalMs: 1_000, cancelGraceMs: 1_000, drainTimeoutMs: 5_000, survivableMs: 900 },
  ...{ pushClaimTtlMs: 2_000, pushTimeoutMs: 1_000, pushPollMs: 300 },
};

/** A small history, made by hand; everything in it may be changed before it is built. Moments count from the beginning. */
export class HistoryBuilder {
  settings: Settings = SETTINGS;
  database: History['database'] = 'sqlite';
  steady = true;
  /** Whether it ends when everything that is to be pushed was. */
  awaited = true;
  endedAt = 60_000;
  readonly replicas: Open<ReplicaRecord>[] = [];
  readonly faults: Open<FaultRecord>[] = [];
  readonly events: Open<EventRow>[] = [];
  readonly leases: Open<LeaseRow>[] = [];
  readonly configs: Open<PushConfigRow>[] = [];
  readonly letters: DeadLetterRow[] = [];
  readonly streams: (Open<Omit<StreamRecord, 'frames'>> & { frames: StreamRecord['frames'][number][] })[] =
    [];
  readonly calls: Open<CallRecord>[] = [];
  readonly pushes: Open<PushRecord>[] = [];
  readonly logs: Open<LogRecord>[] = [];
  readonly samples: ResourceSample[] = [];
  /** Changes of task rows, which otherwise are what the log folds to. */
  readonly taskRows = new Map<string, Partial<TaskRow>>();
  private ids = 0;

  constructor(...replicas: string[]) {
    for (const name of replicas) this.replica(name);
  }

  replica(name: string): Open<ReplicaRecord> {
    const record = {
      ...{ name, holder: `${name}-boot`, startedAtMs: BEGAN_MS - 1_000 },
      ...{ exitedAtMs: null, exit: null, strayLines: [] },
    };
    this.replicas.push(record);
    return record;
  }

  fault(
    kind: FaultRecord['kind'],
    at: number,
    more: Partial<Omit<FaultRecord, 'toMs'>> & { to?: number } = {},
  ): void {
    const { to, ...rest } = more;
    const toMs = to === undefined ? null : BEGAN_MS + to;
    this.faults.push({ kind, replica: null, fromMs: BEGAN_MS + at, detail: 'by hand', ...rest, toMs });
  }

  kill(replica: string, at: number): void {
    this.fault('kill', at, { replica });
    const record = this.replicas.find(({ name }) => name === replica);
    if (record) Object.assign(record, { exitedAtMs: BEGAN_MS + at + 5, exit: 'SIGKILL' });
  }

  /** The first event of a new task. */
  open(taskId: string, replica: string, at: number): Open<EventRow> {
    const data = {
      ...this.bare(taskId, 'SUBMITTED'),
      history: [this.message(taskId, `m1-${taskId}`, 'do it')],
    };
    return this.row(taskId, {
      replica,
      at,
      event: { kind: 'task', data },
      epoch: 1,
      messageId: `m1-${taskId}`,
    });
  }

  /** A user's message that opens the next turn. */
  followUp(taskId: string, replica: string, at: number): Open<EventRow> {
    const seq = this.rowsOf(taskId).length + 1;
    const messageId = `m${seq}-${taskId}`;
    const event: TaskEvent = { kind: 'message', data: this.message(taskId, messageId, 'go on') };
    return this.row(taskId, { replica, at, event, epoch: seq, messageId });
  }

  /** What agents publish first: the task as it was, in SUBMITTED. */
  echo(taskId: string, replica: string, at: number): Open<EventRow> {
    const data = { ...this.folded(taskId), ...{ status: this.bare(taskId, 'SUBMITTED').status } } as Task;
    return this.row(taskId, { replica, at, event: { kind: 'task', data } });
  }

  say(
    taskId: string,
    replica: string,
    at: number,
    said: readonly [name: string, text?: string],
  ): Open<EventRow> {
    const [name, text = ''] = said;
    const status = {
      state: state(name),
      timestamp: iso(at),
      message: text ? this.agentMessage(taskId, text) : undefined,
    };
    const data = { taskId, contextId: 'c', status, metadata: undefined };
    return this.row(taskId, { replica, at, event: { kind: 'statusUpdate', data } });
  }

  chunk(taskId: string, replica: string, at: number, number: number): Open<EventRow> {
    const artifact = {
      ...{ artifactId: 'output', name: 'output', description: '', metadata: undefined, extensions: [] },
      parts: [part(`[${number}]`.padEnd(12, '.'))],
    };
    const data = {
      taskId,
      contextId: 'c',
      append: number > 1,
      lastChunk: false,
      artifact,
      metadata: undefined,
    };
    return this.row(taskId, { replica, at, event: { kind: 'artifactUpdate', data } });
  }

  /** FAILED by a sweeper, of a lease that expired a little before. */
  swept(taskId: string, by: string, at: number): Open<EventRow> {
    const { epoch } = this.rowsOf(taskId).at(-1) as EventRow;
    const data = failedStatus({
      ...{
        taskId,
        contextId: 'c',
        reason: 'replica_lost',
        timestamp: iso(at),
        messageId: `sweep:${taskId}:${epoch}`,
      },
      detail: { expiredAt: iso(at - 10) },
    });
    const row = this.row(taskId, { replica: by, at, event: { kind: 'statusUpdate', data } });
    row.writeId = `sweep:${taskId}:${epoch}`;
    return row;
  }

  /** CANCELED by a canceller: with the epoch of the lease it found, or without one with the version it read. */
  canceled(taskId: string, by: string, at: number, leased = true): Open<EventRow> {
    const rows = this.rowsOf(taskId);
    const epoch = leased ? (rows.at(-1)?.epoch ?? 1) : rows.length;
    const data = clusterStatus({
      ...{ taskId, contextId: 'c', state: state('CANCELED'), timestamp: iso(at) },
      ...{ messageId: this.id('canceled'), text: 'Task cancellation requested by user.' },
    });
    return this.row(taskId, { replica: by, at, event: { kind: 'statusUpdate', data }, epoch });
  }

  rowsOf(taskId: string): Open<EventRow>[] {
    return this.events.filter((row) => row.taskId === taskId);
  }

  /** What a stream shows of rows, shortly after they were stored. */
  framesOf(rows: readonly EventRow[]): StreamRecord['frames'][number][] {
    return rows
      .filter(({ kind }) => kind !== 'message')
      .map(({ payload, createdAtMs }) => ({
        atMs: createdAtMs + 10,
        event: JSON.parse(payload) as WireEvent,
      }));
  }

  /** The stream of a send: by default of the task's first turn, all of it, complete. */
  sent(
    taskId: string,
    replica: string,
    options: { rows?: EventRow[]; messageId?: string } = {},
  ): HistoryBuilder['streams'][number] {
    const rows = options.rows ?? this.rowsOf(taskId);
    const frames = this.framesOf(rows);
    const stream = {
      ...{ id: this.id('stream'), method: 'SendStreamingMessage' as const, replica, owner: 'alice', taskId },
      messageId: options.messageId ?? `m1-${taskId}`,
      openedAtMs: (frames[0]?.atMs ?? BEGAN_MS) - 30,
      ...{ frames, ended: ended((frames.at(-1)?.atMs ?? BEGAN_MS) + 1) },
    };
    this.streams.push(stream);
    return stream;
  }

  /** A subscription that begins with the task as of a seq and shows the rows up to another (default: the last). */
  subscribed(
    taskId: string,
    replica: string,
    seqs: { from: number; to?: number },
  ): HistoryBuilder['streams'][number] {
    const { from, to = Number.POSITIVE_INFINITY } = seqs;
    const rows = this.rowsOf(taskId);
    const openedAtMs = (rows[from - 1]?.createdAtMs ?? BEGAN_MS) + 5;
    const first = encodeEvent({ kind: 'task', data: this.folded(taskId, from) as Task });
    const rest = this.framesOf(rows.filter(({ seq }) => seq > from && seq <= to));
    const frames = [{ atMs: openedAtMs + 5, event: JSON.parse(first) as WireEvent }, ...rest];
    const stream = {
      ...{ id: this.id('stream'), method: 'SubscribeToTask' as const, replica, owner: 'alice', taskId },
      ...{ messageId: null, openedAtMs, frames, ended: ended((frames.at(-1)?.atMs ?? openedAtMs) + 1) },
    };
    this.streams.push(stream);
    return stream;
  }

  call(method: string, replica: string, at: number, more: Partial<CallRecord>): Open<CallRecord> {
    const record = {
      ...{ method, replica, owner: 'alice', taskId: null, messageId: null, sentAtMs: BEGAN_MS + at },
      ...{ answeredAtMs: BEGAN_MS + at + 20, error: null, state: null, must: null },
      ...more,
    };
    this.calls.push(record);
    return record;
  }

  config(taskId: string, hook: string, at: number): Open<PushConfigRow> {
    const row = {
      ...{ taskId, configId: `c-${hook}`, url: `http://127.0.0.1:9/${hook}`, createdAtMs: BEGAN_MS + at },
      ...{ status: 'active', position: 0, attempts: 0, holder: null, claim: 1 },
    };
    this.configs.push(row);
    return row;
  }

  /** Delivers rows to a webhook, which accepts them. */
  pushed(taskId: string, hook: string, rows: readonly EventRow[] = this.rowsOf(taskId)): void {
    for (const row of rows) this.attempt(hook, row);
    const config = this.configs.find(({ configId }) => configId === `c-${hook}`);
    if (config) config.position = rows.at(-1)?.seq ?? 0;
  }

  /** One attempt of a row, by default accepted at once; nothing where webhooks are not sent it. */
  attempt(hook: string, row: EventRow, more: Partial<PushRecord> = {}): void {
    const [frame] = this.framesOf([row]);
    if (frame === undefined) return;
    const atMs = more.atMs ?? frame.atMs + 10;
    this.pushes.push({
      ...{ atMs, hook, taskId: row.taskId, id: `${row.taskId}:${row.seq}:c-${hook}`, event: frame.event },
      ...{ digest: row.payload, answer: 200, answeredAtMs: atMs + 1 },
      ...more,
    });
  }

  log(
    replica: string,
    at: number,
    line: { msg: string; level?: string; taskId?: string; epoch?: number },
  ): void {
    this.logs.push({ atMs: BEGAN_MS + at, replica, level: 'info', fields: {}, ...line });
  }

  build(): History {
    return {
      ...{ format: 2, scenario: 'T', database: this.database, seed: 1, databaseAheadMs: 0 },
      ...{ beganAtMs: BEGAN_MS, endedAtMs: BEGAN_MS + this.endedAt, settings: this.settings },
      databaseClockIsSteady: this.steady,
      pushesAwaited: this.awaited,
      replicas: this.replicas,
      faults: this.faults,
      tables: {
        tasks: [...new Set([...this.events.map(({ taskId }) => taskId), ...this.taskRows.keys()])].map((id) =>
          this.taskRow(id),
        ),
        events: this.events,
        leases: this.leases,
        pushConfigs: this.configs,
        deadLetters: this.letters,
      },
      ...{
        streams: this.streams,
        calls: this.calls,
        pushes: this.pushes,
        logs: this.logs,
        samples: this.samples,
      },
    };
  }

  private taskRow(taskId: string): TaskRow {
    const folded = this.folded(taskId);
    return {
      ...{
        taskId,
        tenant: '',
        owner: 'alice',
        contextId: 'c',
        version: this.rowsOf(taskId).at(-1)?.seq ?? 0,
      },
      state: stateName(folded?.status?.state),
      ...this.taskRows.get(taskId),
    };
  }

  private folded(taskId: string, upTo = Number.POSITIVE_INFINITY): Task | undefined {
    const rows = this.rowsOf(taskId).filter(({ seq }) => seq <= upTo);
    return projectAll({ task: undefined, events: rows.flatMap((row) => readRow(row)?.event ?? []) });
  }

  private row(
    taskId: string,
    of: { replica: string; at: number; event: TaskEvent; epoch?: number; messageId?: string },
  ): Open<EventRow> {
    const before = this.rowsOf(taskId).at(-1);
    const row = {
      ...{ taskId, seq: (before?.seq ?? 0) + 1, kind: of.event.kind, payload: encodeEvent(of.event) },
      ...{ writeId: this.id('write'), messageId: of.messageId ?? null, holder: `${of.replica}-boot` },
      ...{ epoch: of.epoch ?? before?.epoch ?? 1, createdAtMs: BEGAN_MS + of.at },
    };
    this.events.push(row);
    return row;
  }

  private bare(taskId: string, name: string): Task {
    const status = { state: state(name), timestamp: iso(0), message: undefined };
    return { id: taskId, contextId: 'c', status, history: [], artifacts: [], metadata: undefined };
  }

  private agentMessage(taskId: string, text: string): Message {
    return { ...this.message(taskId, this.id('message'), text), role: Role.ROLE_AGENT };
  }

  private message(taskId: string, messageId: string, text: string): Message {
    return {
      ...{ messageId, taskId, contextId: 'c', role: Role.ROLE_USER, parts: [part(text)] },
      ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
    };
  }

  private id(of: string): string {
    return `${of}-${(this.ids += 1)}`;
  }
}

/** The end of a stream that the server ended. */
export function ended(atMs: number, how: StreamEnd['how'] = 'complete'): StreamEnd {
  return { atMs, how };
}

function iso(at: number): string {
  return new Date(BEGAN_MS + at).toISOString();
}

function part(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
}
