import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { FindTasks, OperatorTask, TaskPosition } from '../statements/operator-queries.js';
import type { CreateTask } from '../statements/journal-statements.js';
import { completionOf, event, freshScope, writeOf } from './context.js';
import type { ContractContext, MadeTask } from './context.js';

/** What operators read of tasks. */
export function describeOperators(context: ContractContext): void {
  describe("an operator's page of tasks", () => {
    describeOrder(context);
    describeFilters(context);
  });
  describe('an operator reads', () => describeReads(context));
}

const idsOf = (tasks: readonly Pick<OperatorTask, 'taskId'>[]): string[] => tasks.map(({ taskId }) => taskId);

async function nowMs({ db }: ContractContext): Promise<number> {
  return Math.floor((await db.leases.readClock()).nowMs);
}

function describeOrder(context: ContractContext): void {
  const find = (more: Partial<FindTasks>) => context.db.operators.findTasks({ limit: 100, ...more });

  test('has the youngest first, then the higher id, and goes on where it ended', async () => {
    const scope = freshScope();
    const base = randomUUID();
    const atMs = (await nowMs(context)) - 50_000;
    // Several of one millisecond, in different states, around the ends of pages.
    const states = ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED', 'TASK_STATE_INPUT_REQUIRED'];
    const made: { readonly taskId: string; readonly createdAtMs: number }[] = [];
    for (let count = 0; count < 12; count += 1) {
      const state = states[count % 3] ?? '';
      const { taskId } = await context.makeFreeTask({
        scope,
        state,
        taskId: `${base}-${count % 5}-${count}`,
      });
      const createdAtMs = atMs + Math.floor(count / 6);
      await context.tamper.setCreated(taskId, createdAtMs);
      made.push({ taskId, createdAtMs });
    }
    const expected = made.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.taskId < b.taskId ? 1 : -1));
    expect(await find(scope)).toMatchObject(expected);
    const paged: string[] = [];
    let cursor: TaskPosition | undefined;
    for (let pages = 0; pages < 10; pages += 1) {
      const page = await find({ ...scope, limit: 5, ...(cursor && { cursor }) });
      paged.push(...idsOf(page));
      const last = page.at(-1);
      if (last === undefined) break;
      cursor = { createdAtMs: last.createdAtMs, taskId: last.taskId };
    }
    expect(paged).toEqual(idsOf(expected));
  });

  test('has no rows where none are asked for', async () => {
    const { scope } = await context.makeFreeTask({ scope: freshScope() });
    for (const more of [{ limit: 0 }, { limit: -1 }, { states: [] }, { states: ['NO_STATE'] }])
      expect(await find({ ...scope, ...more })).toEqual([]);
  });

  test('is empty for what cannot be stored', async () => {
    const { scope } = await context.makeFreeTask({ scope: freshScope() });
    for (const odd of ['a\u0000b', '\ud800', 'x'.repeat(192), 'ends in a space ']) {
      for (const more of [{ tenant: odd }, { owner: odd }, { contextId: odd }, { holder: odd }])
        expect(await find({ ...scope, ...more })).toEqual([]);
      expect(await find({ ...scope, cursor: { createdAtMs: 1e15, taskId: odd } })).toEqual([]);
      expect(await context.db.operators.task(odd)).toBeNull();
      expect(await context.db.operators.events({ taskId: odd, after: 0, limit: 10 })).toEqual([]);
    }
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY])
      for (const more of [
        { olderThanMs: odd },
        { youngerThanMs: odd },
        { cursor: { createdAtMs: odd, taskId: 'x' } },
      ])
        expect(await find({ ...scope, ...more })).toEqual([]);
  });
}

interface Made {
  readonly task: MadeTask;
  readonly state: string;
  readonly held: boolean;
  readonly ageMs: number;
}

const DAY_MS = 86_400_000;

/** Tasks that differ in everything that can be asked for, under names that no other test uses. */
async function makeVaried(context: ContractContext) {
  const id = randomUUID();
  const [tenants, owners] = [
    [`t-${id}`, `u-${id}`],
    [`a-${id}`, `b-${id}`],
  ];
  const contexts = [`c-${id}`, `d-${id}`];
  const holder = `holder-${id}`;
  const now = await nowMs(context);
  const made: Made[] = [];
  for (let bits = 0; bits < 32; bits += 1) {
    const bit = (place: number): 0 | 1 => (((bits >> place) & 1) === 1 ? 1 : 0);
    const scope = { tenant: tenants[bit(0)] ?? '', owner: owners[bit(1)] ?? '' };
    const state = bit(2) ? 'TASK_STATE_WORKING' : 'TASK_STATE_INPUT_REQUIRED';
    const held = bit(3) === 1;
    const ageMs = bit(4) ? 2 * DAY_MS : 60_000;
    const more: Partial<CreateTask> = {
      scope,
      state,
      holder,
      contextId: contexts[bits % 3 === 0 ? 1 : 0] ?? '',
    };
    const task = held ? await context.makeTask(more) : await context.makeFreeTask(more);
    await context.tamper.setCreated(task.taskId, now - ageMs - bits);
    made.push({ task, state, held, ageMs });
  }
  return { made, tenants, owners, contexts, holder };
}

function describeFilters(context: ContractContext): void {
  test('has what every condition holds for, whichever are named', async () => {
    const { made, tenants, owners, contexts, holder } = await makeVaried(context);
    const options: readonly (readonly [Partial<FindTasks>, (one: Made) => boolean])[] = [
      [{ states: ['TASK_STATE_WORKING'] }, ({ state }) => state === 'TASK_STATE_WORKING'],
      [{ tenant: tenants[0] ?? '' }, ({ task }) => task.scope.tenant === tenants[0]],
      [{ owner: owners[1] ?? '' }, ({ task }) => task.scope.owner === owners[1]],
      [{ contextId: contexts[0] ?? '' }, ({ task }) => task.contextId === contexts[0]],
      [{ holder }, ({ held }) => held],
      [{ olderThanMs: DAY_MS }, ({ ageMs }) => ageMs > DAY_MS],
      [{ youngerThanMs: DAY_MS }, ({ ageMs }) => ageMs < DAY_MS],
    ];
    const ids = new Set(idsOf(made.map(({ task }) => task)));
    for (let wanted = 0; wanted < 2 ** options.length; wanted += 1) {
      const named = options.filter((_, place) => ((wanted >> place) & 1) === 1);
      const find = Object.assign({ limit: 10_000 }, ...named.map(([more]) => more)) as FindTasks;
      const found = idsOf(await context.db.operators.findTasks(find)).filter((taskId) => ids.has(taskId));
      const expected = made
        .filter((one) => named.every(([, holds]) => holds(one)))
        .map(({ task, ageMs }, place) => ({ taskId: task.taskId, ageMs, place }))
        .sort((a, b) => a.ageMs - b.ageMs || a.place - b.place);
      expect({ find, found }).toEqual({ find, found: idsOf(expected) });
    }
  }, 60_000);

  test('has every state, and those that are named', async () => {
    const scope = freshScope();
    const states = ['SUBMITTED', 'WORKING', 'COMPLETED', 'FAILED', 'CANCELED', 'REJECTED', 'UNSPECIFIED'];
    const names = [...states, 'INPUT_REQUIRED', 'AUTH_REQUIRED'].map((state) => `TASK_STATE_${state}`);
    for (const state of names) await context.makeFreeTask({ scope, state });
    const found = async (more: Partial<FindTasks>): Promise<string[]> =>
      (await context.db.operators.findTasks({ ...scope, limit: 100, ...more }))
        .map(({ state }) => state)
        .sort();
    expect(await found({})).toEqual([...names].sort());
    const some = ['TASK_STATE_AUTH_REQUIRED', 'TASK_STATE_FAILED'];
    expect(await found({ states: [...some, ...some, 'NO_STATE'] })).toEqual(some);
  });
}

function describeReads(context: ContractContext): void {
  test('one task with its lease, and the ages by the clock of the database', async () => {
    const task = await context.makeTask({ scope: freshScope() });
    const { taskId, scope, contextId, holder } = task;
    const atMs = (await nowMs(context)) - DAY_MS;
    await context.tamper.setCreated(taskId, atMs);
    const found = await context.db.operators.task(taskId);
    const { ageMs, idleMs, lease, ...rest } = found!;
    const state = 'TASK_STATE_WORKING';
    expect(rest).toEqual({ taskId, ...scope, contextId, state, version: 1, createdAtMs: atMs });
    expect(ageMs).toBeGreaterThanOrEqual(DAY_MS);
    expect(ageMs).toBeLessThan(DAY_MS + 60_000);
    expect(idleMs).toBeLessThan(60_000);
    expect(lease).toMatchObject({ taskId, holder, epoch: 1, pending: false, cancelAgeMs: null });
    expect(lease?.remainingMs).toBeGreaterThan(0);
    const [listed] = await context.db.operators.findTasks({ ...scope, limit: 1 });
    expect({ ...listed, ageMs, idleMs, lease }).toEqual(found);
    expect(listed?.lease).toMatchObject({ taskId, holder, epoch: 1 });
    await context.db.leases.markCancel({ taskId, epoch: 1 });
    expect((await context.db.operators.task(taskId))?.lease?.cancelAgeMs).toBeGreaterThanOrEqual(0);
  });

  test('how long a task has been without an event', async () => {
    const task = await context.makeTask();
    const younger = async (): Promise<number> => {
      const { ageMs, idleMs } = (await context.db.operators.task(task.taskId))!;
      return ageMs - idleMs;
    };
    expect(Math.abs(await younger())).toBeLessThan(4);
    for (let ticks = 0; ticks < 4; ticks += 1) await context.tick();
    expect(Math.abs(await younger())).toBeLessThan(4);
    await context.db.journal.commit(writeOf(task));
    expect(await younger()).toBeGreaterThanOrEqual(4);
  });

  test('no task where there is none', async () => {
    expect(await context.db.operators.task(`task-${randomUUID()}`)).toBeNull();
  });

  test('events with the moment they were written', async () => {
    const task = await context.makeTask();
    const events = [event('statusUpdate'), event('message', { messageId: 'm-1' }), event('artifactUpdate')];
    await context.db.journal.commit(writeOf(task, { events }));
    const { taskId } = task;
    const now = await nowMs(context);
    const all = await context.db.operators.events({ taskId, after: 0, limit: 100 });
    const rows = await context.db.log.readEvents({ taskId, after: 0, limit: 100 });
    expect(all).toEqual(rows.map((row) => ({ ...row, createdAtMs: expect.any(Number) })));
    expect(all).toHaveLength(4);
    for (const { createdAtMs } of all) expect(Math.abs(now - createdAtMs)).toBeLessThan(60_000);
    const page = await context.db.operators.events({ taskId, after: 1, limit: 2 });
    expect(page).toEqual(all.slice(1, 3));
    expect(await context.db.operators.events({ taskId, after: 4, limit: 2 })).toEqual([]);
    expect(await context.db.operators.events({ taskId, after: 0, limit: 0 })).toEqual([]);
  });

  test('how many tasks are in each state that is no end, and how many run without a lease', async () => {
    const counts = async () => {
      const live = await context.db.operators.countLive();
      return { live, leaseless: await context.db.operators.countLeaseless() };
    };
    const before = await counts();
    const held = await context.makeTask({ state: 'TASK_STATE_SUBMITTED' });
    await context.makeFreeTask({ state: 'TASK_STATE_SUBMITTED' });
    await context.makeFreeTask({ state: 'TASK_STATE_AUTH_REQUIRED' });
    await context.makeFreeTask({ state: 'TASK_STATE_COMPLETED' });
    const after = await counts();
    const grown = (state: string) => (after.live[state] ?? 0) - (before.live[state] ?? 0);
    expect(grown('TASK_STATE_SUBMITTED')).toBe(2);
    expect(grown('TASK_STATE_AUTH_REQUIRED')).toBe(1);
    expect(Object.keys(after.live)).not.toContain('TASK_STATE_COMPLETED');
    expect(after.leaseless - before.leaseless).toBe(1);
    await context.db.journal.commit(completionOf(held));
    expect((await counts()).live['TASK_STATE_SUBMITTED']).toBe((after.live['TASK_STATE_SUBMITTED'] ?? 0) - 1);
    expect(Object.values((await counts()).live).every((count) => count > 0)).toBe(true);
  });
}
