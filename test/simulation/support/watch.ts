import type { EventRow, StateName } from '@a2a-cluster/core';
import { isTerminalName } from '@a2a-cluster/core';
import type {
  CancelWrite,
  CommitEvents,
  CreateTask,
  OpenOutcome,
  OpenTurn,
  Renewed,
  SweepOutcome,
  WriteOutcome,
  Beat,
} from '@a2a-cluster/db';
import { checkMarked, checkSwept, TrustCheck } from './lease-rules.js';
import type { World } from './world.js';

/** A lease as it must be, worked out from what was executed and from virtual time alone. */
export interface WatchedLease {
  readonly holder: string;
  readonly epoch: number;
  expiresAtMs: number;
}

/** A task as its log tells it. */
export interface WatchedTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly rows: EventRow[];
  state: StateName;
  lease: WatchedLease | null;
  /** Per epoch. */
  readonly holders: Map<number, string>;
}

/** One write that the database said it has stored. */
interface Stored {
  readonly taskId: string;
  readonly seq: number;
  readonly writeId: string;
}

/** A statement that was executed. */
export interface Executed {
  readonly owner: string;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly value: unknown;
}

/** Looks at the rows after every statement, so that a violation is found at the step that brings it. */
export class Watch {
  readonly tasks = new Map<string, WatchedTask>();
  readonly stored: Stored[] = [];
  readonly trust: TrustCheck;
  /** Per replica: when it last learnt what the database's clock says. */
  readonly clockReadAtMs = new Map<string, number>();
  private readonly writeIds = new Set<string>();

  constructor(private readonly world: World) {
    this.trust = new TrustCheck(world);
  }

  /** Rows with the tasks in the order of their creation. */
  inOrder(rows: readonly EventRow[]): readonly EventRow[] {
    const order = [...this.tasks.keys()];
    return [...rows].sort((a, b) => order.indexOf(a.taskId) - order.indexOf(b.taskId) || a.seq - b.seq);
  }

  async executed({ owner, name, args, value }: Executed): Promise<void> {
    const [first] = args;
    switch (name) {
      case 'createTask':
        return this.created(first as CreateTask, value as WriteOutcome);
      case 'commit':
        return this.committed(first as CommitEvents, value as WriteOutcome);
      case 'openTurn':
        return this.opened(first as OpenTurn, value as OpenOutcome);
      case 'cancel':
        return this.canceled(first as CancelWrite, value as WriteOutcome);
      case 'sweep':
        return this.swept(value as SweepOutcome, owner);
      case 'readClock':
        return void this.clockReadAtMs.set(owner, this.world.scheduler.nowMs);
      case 'beat':
        return this.renewed(first as Beat, value as readonly Renewed[]);
      case 'beatOne':
        return this.renewed(first as Beat, value ? [value as Renewed] : []);
      case 'release':
        return this.released((first as { readonly taskId: string }).taskId);
      case 'markCancel':
        if (value !== null)
          checkMarked(this.world, first as { readonly taskId: string; readonly epoch: number });
    }
  }

  private async created(create: CreateTask, outcome: WriteOutcome): Promise<void> {
    if (!outcome.ok) return;
    const { taskId, contextId, holder, ttlMs, terminal, events } = create;
    const task: WatchedTask = { taskId, contextId, rows: [], state: '', lease: null, holders: new Map() };
    this.tasks.set(taskId, task);
    if (!terminal) this.grant(task, { holder, epoch: 1, ttlMs });
    else task.holders.set(1, holder);
    await this.append(task, { events, holder });
  }

  private async committed(commit: CommitEvents, outcome: WriteOutcome): Promise<void> {
    const task = this.tasks.get(commit.taskId);
    if (!outcome.ok || task === undefined) return;
    const { holder, epoch, events } = commit;
    const { lease } = task;
    if (lease?.holder !== holder || lease.epoch !== epoch)
      this.violated(task, `I3 a write of epoch ${epoch} landed under another lease`);
    else if (lease.expiresAtMs <= this.world.scheduler.nowMs && this.timed)
      this.violated(task, 'I3 a write landed after its lease had expired');
    await this.append(task, { events, holder });
  }

  private async opened(open: OpenTurn, outcome: OpenOutcome): Promise<void> {
    const task = this.tasks.get(open.taskId);
    if (!outcome.ok || task === undefined) return;
    const { lease } = task;
    if (lease && lease.expiresAtMs > this.world.scheduler.nowMs && this.timed)
      this.violated(task, 'I6 a follow-up took a live lease');
    await this.append(task, { events: [open.event], holder: open.holder });
    this.grant(task, { holder: open.holder, epoch: outcome.epoch, ttlMs: open.ttlMs });
  }

  private async canceled(cancel: CancelWrite, outcome: WriteOutcome): Promise<void> {
    const task = this.tasks.get(cancel.taskId);
    if (outcome.ok && task) await this.append(task, { events: [cancel.event], holder: null });
  }

  private async swept({ swept }: SweepOutcome, sweeper: string): Promise<void> {
    for (const { taskId, failed, holder, epoch } of swept) {
      const task = this.tasks.get(taskId);
      if (task === undefined) continue;
      checkSwept(this.world, task, { holder, epoch, failed: failed !== null, sweeper });
      task.lease = null;
      await this.append(task, { events: [], holder: null, unasked: failed === null ? 0 : 1 });
    }
  }

  private renewed({ ttlMs }: Pick<Beat, 'ttlMs'>, renewed: readonly Renewed[]): void {
    for (const { taskId, epoch } of renewed) {
      const lease = this.tasks.get(taskId)?.lease;
      if (lease?.epoch === epoch) lease.expiresAtMs = this.world.scheduler.nowMs + ttlMs;
    }
  }

  private async released(taskId: string): Promise<void> {
    const task = this.tasks.get(taskId);
    const rows = await this.world.base.leases.readLeases([taskId]);
    if (task && rows.length === 0) task.lease = null;
  }

  private grant(
    task: WatchedTask,
    to: { readonly holder: string; readonly epoch: number; readonly ttlMs: number },
  ): void {
    const { holder, epoch, ttlMs } = to;
    const before = [...task.holders.keys()].at(-1) ?? 0;
    if (epoch <= before) this.violated(task, `I3 epoch ${epoch} follows epoch ${before}`);
    task.holders.set(epoch, holder);
    task.lease = { holder, epoch, expiresAtMs: this.world.scheduler.nowMs + ttlMs };
  }

  /** What the log has more than before, and whether it is what was written. */
  private async append(
    task: WatchedTask,
    write: {
      readonly events: readonly { readonly writeId: string; readonly payload: string }[];
      readonly holder: string | null;
      readonly unasked?: number;
    },
  ): Promise<void> {
    const { taskId, rows } = task;
    const { events, holder, unasked = 0 } = write;
    const fresh = await this.world.base.log.readEvents({ taskId, after: rows.length, limit: 10_000 });
    if (fresh.length !== events.length + unasked)
      this.violated(task, `I4 ${events.length + unasked} events acknowledged, ${fresh.length} stored`);
    events.forEach(({ writeId }, index) => {
      if (this.writeIds.has(writeId)) this.violated(task, `I4 ${writeId} was stored twice`);
      this.writeIds.add(writeId);
      this.stored.push({ taskId, seq: rows.length + index + 1, writeId });
    });
    for (const row of fresh) this.appendRow(task, row, holder);
    if (isTerminalName(task.state)) task.lease = null;
  }

  private appendRow(task: WatchedTask, row: EventRow, holder: string | null): void {
    const last = task.rows.at(-1);
    if (row.seq !== task.rows.length + 1) this.violated(task, `I2 seq ${row.seq} after ${task.rows.length}`);
    if (last && row.epoch < last.epoch) this.violated(task, `I3 epoch ${row.epoch} after ${last.epoch}`);
    if (isTerminalName(task.state)) this.violated(task, `I1 event ${row.seq} after ${task.state}`);
    const owner = task.holders.get(row.epoch);
    if (holder !== null && row.kind !== 'message' && owner !== row.holder)
      this.violated(task, `I3 ${row.holder} wrote under epoch ${row.epoch} of ${owner}`);
    task.rows.push(row);
    task.state = stateOf(row) ?? task.state;
  }

  /** Whether the database's clock has gone with virtual time. */
  private get timed(): boolean {
    return !this.world.faults.kindsHave('step');
  }

  private violated(task: WatchedTask, what: string): void {
    this.world.violated(`${what} (task ${task.taskId})`);
  }
}

/** The state a row leaves its task in; undefined: it says nothing of it. */
export function stateOf(row: Pick<EventRow, 'kind' | 'payload'>): StateName | undefined {
  if (row.kind !== 'task' && row.kind !== 'statusUpdate') return undefined;
  const json = JSON.parse(row.payload) as Record<string, { readonly status?: { readonly state?: string } }>;
  return json[row.kind]?.status?.state;
}
