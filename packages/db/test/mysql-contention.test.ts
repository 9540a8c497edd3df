import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSystemClock, isTerminalName, sleep, type NewEvent } from '@a2a-cluster/core';
import type { Database } from '../src/database.js';
import type { SweptLease } from '../src/statements/journal-statements.js';
import { MysqlBench } from './support/mysql.js';

/** At least so long, and until all has happened that is to be tested; a busy machine needs longer. */
const RUN_MS = 8_000;
const LONGEST_MS = 40_000;
const TTL_MS = 250;
const SLOTS = 5;
const REPLICAS = ['replica-0', 'replica-1', 'replica-2'];
const scope = { tenant: '', owner: 'alice' };
const clock = createSystemClock();

interface Lease {
  readonly taskId: string;
  readonly holder: string;
  readonly epoch: number;
  version: number;
}

/** What the clients of this run were told, to be held against what is stored. */
class History {
  readonly acknowledged: { readonly taskId: string; readonly seq: number; readonly writeId: string }[] = [];
  readonly refused: string[] = [];
  readonly swept: SweptLease[] = [];
  readonly faults: string[] = [];
  readonly gaps: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly messages: string[] = [];

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  wrote(taskId: string, firstSeq: number, events: readonly NewEvent[]): void {
    events.forEach(({ writeId }, index) =>
      this.acknowledged.push({ taskId, seq: firstSeq + index, writeId }),
    );
  }
}

const history = new History();
let bench: MysqlBench;
const slots: string[] = [];
const held = new Map<string, Set<Lease>>(REPLICAS.map((name) => [name, new Set()]));
const startedMs = clock.monotonicMs();

/** What must have happened for the run to mean anything, and how often. */
const WANTED: Readonly<Record<string, number>> = {
  ...{ opened: 20, committed: 100, 'commit refused': 5, beat: 20, 'beat singly': 5, zombie: 5, canceled: 3 },
  ...{
    'cancel refused': 1,
    busy: 20,
    parked_busy: 3,
    abandoned: 1,
    duplicate: 3,
    terminal: 5,
    read: 100,
    late: 3,
  },
};
const missing = (): string[] =>
  Object.keys(WANTED).filter((what) => (history.counts[what] ?? 0) < (WANTED[what] ?? 0));

const running = (): boolean => {
  const passedMs = clock.monotonicMs() - startedMs;
  return passedMs < RUN_MS || (missing().length > 0 && passedMs < LONGEST_MS);
};
const pause = (upToMs: number): Promise<void> => sleep({ clock, delayMs: Math.random() * upToMs });
const chance = (share: number): boolean => Math.random() < share;
const oneSlot = (): number => Math.floor(Math.random() * SLOTS);

const stateOf = (state: string): Pick<NewEvent, 'kind' | 'payload'> => ({
  kind: 'statusUpdate',
  payload: JSON.stringify({ statusUpdate: { status: { state } } }),
});
const status = (state: string): NewEvent => ({ ...stateOf(state), writeId: randomUUID() });
const artifact = (): NewEvent => ({
  kind: 'artifactUpdate',
  payload: '{"artifactUpdate":{}}',
  writeId: randomUUID(),
});

beforeAll(async () => {
  bench = await MysqlBench.open();
  const first = await bench.replica();
  for (let slot = 0; slot < SLOTS; slot += 1) slots.push(await newTask(first, 'replica-0'));
  const work: Promise<void>[] = [];
  for (const holder of REPLICAS) {
    const db = await bench.replica({ ttlMs: TTL_MS * 12, poolSize: 4 });
    for (let n = 0; n < 3; n += 1) work.push(client(db, holder));
    work.push(
      loop(() => beat(db, holder)),
      loop(() => sweeper(db, holder)),
      loop(() => canceller(db, holder)),
    );
    work.push(loop(() => reader(db)));
  }
  work.push(loop(foreignLock));
  await Promise.all(work);
  // What is left is ended as it would be in life: by the sweep.
  while ((await first.leases.listLeases(1)).length > 0) {
    await sweeper(first, 'replica-0');
    await pause(20);
  }
});

afterAll(() => bench.close());

async function newTask(db: Database, holder: string): Promise<string> {
  const taskId = `task-${randomUUID()}`;
  const events: NewEvent[] = [{ ...stateOf('TASK_STATE_WORKING'), kind: 'task', writeId: randomUUID() }];
  const move = { state: 'TASK_STATE_WORKING', statusTimestamp: null, terminal: false, clearsPending: false };
  await db.journal.createTask({
    ...{ taskId, scope, contextId: 'c', holder, ttlMs: TTL_MS, events, snapshot: null },
    ...move,
  });
  history.wrote(taskId, 1, events);
  return taskId;
}

/** Runs a step again and again; a fault is kept, and ends nothing. */
async function loop(step: () => Promise<void>): Promise<void> {
  while (running()) {
    try {
      await step();
    } catch (error) {
      const { code, details, message } = error as Error & { code?: string; details?: object };
      history.faults.push(`${code}: ${message} ${JSON.stringify(details)}`);
    }
    await pause(15);
  }
}

function client(db: Database, holder: string): Promise<void> {
  return loop(async () => {
    const slot = oneSlot();
    const lease = await openTurn(db, { slot, holder });
    if (lease) await runTurn(db, lease);
  });
}

async function openTurn(
  db: Database,
  turn: { readonly slot: number; readonly holder: string },
): Promise<Lease | null> {
  const { slot, holder } = turn;
  const taskId = slots[slot] ?? '';
  // Now and then a message that somebody else sends too.
  const messageId = chance(0.5) ? `shared-${Math.floor(clock.monotonicMs() / 1_000)}` : randomUUID();
  const event: NewEvent = { kind: 'message', payload: '{}', writeId: randomUUID(), messageId };
  const opened = await db.journal.openTurn({
    ...{ taskId, scope, contextId: null, holder, ttlMs: TTL_MS, event, takeOver: true },
  });
  history.count(opened.ok ? 'opened' : opened.refusal);
  if (opened.ok) {
    history.wrote(taskId, opened.epoch, [event]);
    return { taskId, holder, epoch: opened.epoch, version: opened.epoch };
  }
  history.refused.push(event.writeId);
  if (opened.refusal !== 'terminal') return null;
  const fresh = await newTask(db, holder);
  slots[slot] = fresh;
  return { taskId: fresh, holder, epoch: 1, version: 1 };
}

/** Some turns end well, some park, some die, and some sleep past their lease and go on writing. */
async function runTurn(db: Database, lease: Lease): Promise<void> {
  const beats = held.get(lease.holder);
  beats?.add(lease);
  try {
    for (let n = 0; n < 3; n += 1) {
      if (chance(0.04)) return;
      if (chance(0.08)) {
        beats?.delete(lease);
        await sleep({ clock, delayMs: TTL_MS * (1 + Math.random()) });
        history.count('zombie');
      }
      if (!(await commit(db, lease, [artifact(), ...(chance(0.5) ? [status('TASK_STATE_WORKING')] : [])])))
        return;
      await pause(20);
    }
    if (chance(0.15)) return void (await commit(db, lease, [status('TASK_STATE_COMPLETED')]));
    if (await commit(db, lease, [status('TASK_STATE_INPUT_REQUIRED')])) {
      await pause(30);
      if (chance(0.1)) await writeLate(db, lease);
      if (chance(0.9)) await db.leases.release(lease);
    }
  } finally {
    beats?.delete(lease);
  }
}

/** A parked turn that wakes when its lease may have been dropped, and goes on as if it had not. */
async function writeLate(db: Database, lease: Lease): Promise<void> {
  held.get(lease.holder)?.delete(lease);
  await sleep({ clock, delayMs: 2 * TTL_MS });
  await commit(db, lease, [status('TASK_STATE_WORKING')]);
  history.count('late');
}

async function commit(db: Database, lease: Lease, events: readonly NewEvent[]): Promise<boolean> {
  const last = /TASK_STATE_\w+/.exec(events.at(-1)?.payload ?? '')?.[0] ?? null;
  const outcome = await db.journal.commit({
    ...{
      taskId: lease.taskId,
      expectedVersion: lease.version,
      holder: lease.holder,
      epoch: lease.epoch,
      events,
    },
    ...{ state: last, statusTimestamp: null, terminal: last !== null && isTerminalName(last) },
    ...{ clearsPending: last !== null, snapshot: chance(0.2) ? '{}' : null },
  });
  history.count(outcome.ok ? 'committed' : 'commit refused');
  if (!outcome.ok) history.refused.push(...events.map(({ writeId }) => writeId));
  else {
    history.wrote(lease.taskId, lease.version + 1, events);
    lease.version = outcome.version;
  }
  return outcome.ok;
}

async function beat(db: Database, holder: string): Promise<void> {
  const leases = [...(held.get(holder) ?? [])];
  if (leases.length === 0) return;
  const renewed = new Set(
    (await db.leases.beat({ holder, ttlMs: TTL_MS, leases })).map(({ taskId }) => taskId),
  );
  history.count('beat');
  for (const lease of leases.filter(({ taskId }) => !renewed.has(taskId)))
    if (await db.leases.beatOne({ holder, ttlMs: TTL_MS, lease, waitMs: 60 })) history.count('beat singly');
}

async function sweeper(db: Database, name: string): Promise<void> {
  const { swept } = await db.journal.sweep({
    limit: 10,
    sweeper: name,
    statusTimestamp: 'now',
    text: 'lost',
  });
  history.swept.push(...swept);
  await pause(60);
}

async function canceller(db: Database, name: string): Promise<void> {
  await pause(600);
  const taskId = slots[oneSlot()] ?? '';
  const look = await db.journal.look({ taskId, scope });
  if (!look || isTerminalName(look.state)) return;
  if (look.lease) await db.leases.markCancel({ taskId, epoch: look.lease.epoch });
  await pause(20);
  const event = status('TASK_STATE_CANCELED');
  const outcome = await db.journal.cancel({
    ...{ taskId, scope, expectedVersion: look.version, event, statusTimestamp: 'now', holder: name },
    epoch: look.lease?.epoch ?? look.version,
  });
  history.count(outcome.ok ? 'canceled' : 'cancel refused');
  if (outcome.ok) history.wrote(taskId, look.version + 1, [event]);
  else history.refused.push(event.writeId);
}

/** One read is one moment: snapshot, events and version belong together, whatever is written meanwhile. */
async function reader(db: Database): Promise<void> {
  const taskId = slots[oneSlot()] ?? '';
  const task = await db.log.readTask({ taskId });
  if (!task) return;
  history.count('read');
  const seqs = task.events.map(({ seq }) => seq);
  const expected = Array.from(
    { length: task.version - task.snapshotVersion },
    (_, n) => task.snapshotVersion + 1 + n,
  );
  if (seqs.join() !== expected.join())
    history.gaps.push(`${taskId} v${task.version} snapshot ${task.snapshotVersion}: ${seqs.join()}`);
  if (task.lease && isTerminalName(task.state)) history.gaps.push(`${taskId} is ${task.state} and leased`);
}

async function foreignLock(): Promise<void> {
  await pause(300);
  const [table, key] = chance(0.5) ? ['task_leases', 'task_id'] : ['tasks', 'id'];
  const lock = await bench.hold(`SELECT * FROM ${table} WHERE ${key} = '${slots[oneSlot()]}' FOR UPDATE`);
  await pause(120);
  await lock.free();
  await lock.raw.close();
}

test('the run was a contended one, and no deadlock or timeout came through', () => {
  expect(history.faults).toEqual([]);
  expect(missing()).toEqual([]);
  expect(history.swept.length).toBeGreaterThan(5);
});

test('every read saw one moment', () => {
  expect(history.gaps).toEqual([]);
});

const problems = (sql: string) => bench.raw.query(sql);
const terminal = `REGEXP 'TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED)'`;

test('I1: at most one terminal event per task, none after it, and the task row says the same', async () => {
  expect(
    await problems(
      `SELECT task_id FROM task_events WHERE payload ${terminal} GROUP BY task_id HAVING COUNT(*) > 1`,
    ),
  ).toEqual([]);
  expect(
    await problems(`SELECT t.id, t.state FROM tasks t LEFT JOIN task_events e ON e.task_id = t.id AND e.seq = t.version
      WHERE e.seq IS NULL OR (t.state ${terminal}) <> (e.payload ${terminal})
        OR ((t.state ${terminal}) AND LOCATE(t.state, e.payload) = 0)`),
  ).toEqual([]);
});

test('I2: seqs are 1 to the version, without a gap', async () => {
  expect(
    await problems(`SELECT t.id FROM tasks t JOIN task_events e ON e.task_id = t.id GROUP BY t.id, t.version
      HAVING MIN(e.seq) <> 1 OR MAX(e.seq) <> t.version OR COUNT(*) <> t.version`),
  ).toEqual([]);
});

test('I3: epochs only grow along the log, and each has one holder', async () => {
  expect(
    await problems(`SELECT a.task_id, a.seq, a.epoch, b.epoch AS next FROM task_events a
      JOIN task_events b ON b.task_id = a.task_id AND b.seq = a.seq + 1 WHERE b.epoch < a.epoch`),
  ).toEqual([]);
  // What a sweeper or a canceller wrote carries the epoch it ended.
  expect(
    await problems(`SELECT task_id, epoch FROM task_events WHERE NOT payload REGEXP 'TASK_STATE_(FAILED|CANCELED)'
      GROUP BY task_id, epoch HAVING COUNT(DISTINCT holder) > 1 OR MIN(seq) < epoch`),
  ).toEqual([]);
});

test('I4: what was acknowledged is in the log, what was refused is not', async () => {
  const rows = await bench.raw.query('SELECT task_id, seq, write_id FROM task_events');
  const stored = new Set(rows.map((row) => `${row['task_id']} ${row['seq']} ${row['write_id']}`));
  const writeIds = new Set(rows.map((row) => row['write_id']));
  expect(writeIds.size).toBe(rows.length);
  expect(
    history.acknowledged.filter(({ taskId, seq, writeId }) => !stored.has(`${taskId} ${seq} ${writeId}`)),
  ).toEqual([]);
  expect(history.refused.filter((writeId) => writeIds.has(writeId))).toEqual([]);
});

test('I10: no lease on an ended task, no running task without one, nothing swept twice', async () => {
  expect(await problems('SELECT * FROM task_leases')).toEqual([]);
  expect(
    await problems(
      `SELECT id, state FROM tasks WHERE NOT state ${terminal} AND state <> 'TASK_STATE_INPUT_REQUIRED'`,
    ),
  ).toEqual([]);
  const turns = history.swept.map(({ taskId, epoch }) => `${taskId} ${epoch}`);
  expect(new Set(turns).size).toBe(turns.length);
});

test('a message sent by several was stored once per task', async () => {
  expect(
    await problems(`SELECT task_id, message_id FROM task_events WHERE message_id IS NOT NULL
      GROUP BY task_id, message_id HAVING COUNT(*) > 1`),
  ).toEqual([]);
});
