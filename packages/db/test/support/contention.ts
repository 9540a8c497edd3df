import { randomUUID } from 'node:crypto';
import { isTerminalName, type NewEvent } from '@a2a-cluster/core';
import type { Database } from '../../src/database.js';
import type { SweptLease, TaskMove } from '../../src/statements/journal-statements.js';

/** What all actors share, and what they saw. */
export class Contention {
  /** Current task per slot: few, so that everybody meets everybody. */
  readonly slots: string[] = [];
  readonly taskIds: string[] = [];
  /** Write ids of acknowledged writes. */
  readonly stored: string[] = [];
  /** Write ids of refused writes. */
  readonly refused: string[] = [];
  readonly swept: SweptLease[] = [];
  readonly counts = { commits: 0, turns: 0, zombies: 0, fenced: 0, cancels: 0 };
  private readonly endsAt: number;

  constructor(options: { readonly slots: number; readonly runMs: number }) {
    this.endsAt = Date.now() + options.runMs;
    for (let n = 0; n < options.slots; n++) this.slots.push('');
  }

  get running(): boolean {
    return Date.now() < this.endsAt;
  }

  /** The answer of a write, kept for the checker. */
  note(events: readonly NewEvent[], ok: boolean): boolean {
    (ok ? this.stored : this.refused).push(...events.map((event) => event.writeId));
    return ok;
  }
}

/** Lease time: short, so that leases expire all the time. */
export const TTL_MS = 250;
/** Every task's owner. */
export const SCOPE = { tenant: 't', owner: 'alice' };

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
/** Waits up to so long. */
export const pause = (atMostMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * atMostMs));

function eventOf(state: string | null, more: Partial<NewEvent> = {}): NewEvent {
  const payload = JSON.stringify({ state });
  return {
    kind: state === null ? 'artifactUpdate' : 'statusUpdate',
    payload,
    writeId: randomUUID(),
    ...more,
  };
}

const moveTo = (state: string | null): TaskMove => ({
  state,
  statusTimestamp: state,
  terminal: state !== null && isTerminalName(state),
  clearsPending: state !== null,
  snapshot: Math.random() < 0.2 ? '{}' : null,
});

/** A turn as its holder knows it. */
interface HeldTurn {
  readonly db: Database;
  readonly holder: string;
  readonly taskId: string;
  readonly epoch: number;
  version: number;
}

/** A replica's executor: opens turns, writes, and now and then stops beating and comes back as a zombie. */
export async function execute(run: Contention, db: Database, holder: string): Promise<void> {
  while (run.running) {
    const turn = await beginTurn(run, db, holder);
    if (turn === null) await pause(10);
    else await work(run, turn);
  }
}

async function beginTurn(run: Contention, db: Database, holder: string): Promise<HeldTurn | null> {
  const slot = Math.floor(Math.random() * run.slots.length);
  const taskId = run.slots[slot] ?? '';
  const look = taskId === '' ? null : await db.journal.look({ taskId });
  if (look === null || isTerminalName(look.state)) return createInto(run, db, { slot, holder });
  const event = eventOf(null, { kind: 'message', messageId: randomUUID() });
  const open = { taskId, scope: SCOPE, contextId: null, holder, ttlMs: TTL_MS, takeOver: true, event };
  const opened = await db.journal.openTurn(open);
  run.note([event], opened.ok);
  if (!opened.ok) return null;
  run.counts.turns += 1;
  return { db, holder, taskId, epoch: opened.epoch, version: opened.epoch };
}

async function createInto(
  run: Contention,
  db: Database,
  place: { readonly slot: number; readonly holder: string },
): Promise<HeldTurn> {
  const taskId = `task-${randomUUID()}`;
  const { slot, holder } = place;
  const state = 'TASK_STATE_WORKING';
  const events = [eventOf(state, { kind: 'task' }), eventOf(null)];
  run.taskIds.push(taskId);
  run.slots[slot] = taskId;
  const create = {
    ...moveTo(state),
    state,
    taskId,
    scope: SCOPE,
    contextId: 'c',
    holder,
    ttlMs: TTL_MS,
    events,
  };
  const created = await db.journal.createTask(create);
  if (!run.note(events, created.ok)) throw new Error('a fresh id is taken');
  return { db, holder, taskId, epoch: 1, version: 2 };
}

async function work(run: Contention, turn: HeldTurn): Promise<void> {
  const steps = Math.floor(Math.random() * 12);
  for (let step = 0; step < steps; step++) {
    if (!(await write(run, turn, pick([null, null, null, 'TASK_STATE_WORKING', 'TASK_STATE_AUTH_REQUIRED']))))
      return haunt(run, turn);
    const { db, holder, taskId, epoch } = turn;
    if (step % 3 === 0) await db.leases.beat({ holder, ttlMs: TTL_MS, leases: [{ taskId, epoch }] });
    await pause(15);
  }
  // One in four dies here.
  if (Math.random() < 0.25) {
    if (Math.random() < 0.5) await write(run, turn, 'TASK_STATE_INPUT_REQUIRED');
    await pause(2.5 * TTL_MS);
    return haunt(run, turn);
  }
  if (Math.random() < 0.5) return void (await write(run, turn, 'TASK_STATE_COMPLETED'));
  if (await write(run, turn, 'TASK_STATE_INPUT_REQUIRED')) await turn.db.leases.release(turn);
}

/** A zombie: writes under the version it knew, and under the newest there is. */
async function haunt(run: Contention, turn: HeldTurn): Promise<void> {
  run.counts.zombies += 1;
  for (let n = 0; n < 3; n++) {
    if (!(await write(run, turn, null))) run.counts.fenced += 1;
    const look = await turn.db.journal.look({ taskId: turn.taskId });
    turn.version = look?.version ?? turn.version;
  }
}

async function write(run: Contention, turn: HeldTurn, state: string | null): Promise<boolean> {
  const { taskId, holder, epoch, version: expectedVersion } = turn;
  const before = Array.from({ length: Math.floor(Math.random() * 3) }, () => eventOf(null));
  const events = [...before, eventOf(state)];
  const commit = { ...moveTo(state), taskId, holder, epoch, expectedVersion, events };
  const outcome = await turn.db.journal.commit(commit);
  if (outcome.ok) turn.version = outcome.version;
  run.counts.commits += outcome.ok ? 1 : 0;
  return run.note(events, outcome.ok);
}

/** A sweeper of one replica. */
export async function sweepAlways(run: Contention, db: Database, sweeper: string): Promise<void> {
  while (run.running) {
    await sweepOnce(run, db, sweeper);
    await pause(40);
  }
}

/** One pass; gives how many expired leases were seen. */
export async function sweepOnce(run: Contention, db: Database, sweeper: string): Promise<number> {
  const statusTimestamp = 'TASK_STATE_FAILED';
  const { swept, candidates } = await db.journal.sweep({ limit: 3, sweeper, statusTimestamp, text: 'lost' });
  run.swept.push(...swept);
  return candidates;
}

/** Cancels what it finds, the version compared. */
export async function cancelAlways(run: Contention, db: Database): Promise<void> {
  while (run.running) {
    await pause(120);
    const taskId = pick(run.slots);
    const look = taskId === '' ? null : await db.journal.look({ taskId });
    if (look === null) continue;
    if (look.lease) await db.leases.markCancel({ taskId, epoch: look.lease.epoch });
    await pause(20);
    const event = eventOf('TASK_STATE_CANCELED');
    const outcome = await db.journal.cancel({
      ...{ taskId, scope: SCOPE, expectedVersion: look.version, event, holder: 'canceller' },
      ...{ statusTimestamp: 'TASK_STATE_CANCELED', epoch: look.lease?.epoch ?? look.version },
    });
    if (run.note([event], outcome.ok)) run.counts.cancels += 1;
  }
}
