import { randomUUID } from 'node:crypto';
import type { Database } from '@a2a-cluster/db';
import { FEW, MANY, grownTaskId, isTotal, sweepOf, type Explained } from '@a2a-cluster/testing';
import type { Grown } from './grown.js';

/** One thing that is done to both databases. */
export interface Step {
  readonly name: string;
  /** What the large database may take, as a multiple of the small one. Null: it has to grow with the matches. */
  readonly most: number | null;
  run(index: number): Promise<unknown>;
}

/** How many tasks reads are spread over. */
const SPREAD = 997;
const HOLDER = 'bench';

/** What is measured, ready to run on one database: tasks of its own are made, and what has expired is swept. */
export async function stepsOf(grown: Grown): Promise<readonly Step[]> {
  const { database, size } = grown;
  const sweep = (): Promise<unknown> => database.journal.sweep(sweepOf(500));
  while ((await database.journal.sweep(sweepOf(500))).swept.length > 0);
  const some = (index: number): string =>
    grownTaskId(1 + Math.floor((((index * 613) % SPREAD) * size.endedTasks) / SPREAD));
  const list = (scope: typeof MANY | typeof FEW) => () => database.tasks.list({ scope, limit: 50 });
  return [
    ...pageSteps(grown),
    { name: 'ListTasks of an owner of twenty', most: 3, run: list(FEW) },
    { name: 'ListTasks of an owner of every other task', most: null, run: list(MANY) },
    { name: 'readTask', most: 3, run: (index) => database.log.readTask({ taskId: some(index) }) },
    {
      name: 'readHeads of 20',
      most: 3,
      run: (index) => database.log.readHeads(Array.from({ length: 20 }, (_, n) => some(20 * index + n))),
    },
    { name: 'sweep, nothing expired', most: 3, run: sweep },
    { name: 'nextExpiry', most: 3, run: () => database.leases.nextExpiry() },
    { name: 'commit of one event', most: 3, run: await committer(database) },
  ];
}

/** Statements by themselves: a call for a list asks for page and total at once. */
const alone: readonly (readonly [call: string, total: boolean])[] = [
  ['an owner of many: first page', false],
  ['an owner of many: page in the middle', false],
  ['an owner of many: page without a time', false],
  ['a common state: page in the middle', false],
  ['a rare state: page in the middle', false],
  ['a large context: page in the middle', false],
  ['a rare state of a large context: page in the middle', false],
  ['a small context: first page', true],
  ['a state of an owner of few: first page', true],
];

function pageSteps({ plans, raw }: Grown): Step[] {
  return alone.map(([call, total]) => {
    const found = plans.find((one: Explained) => one.call === call && isTotal(one) === total);
    if (!found) throw new Error(`no statement of ${call}`);
    const { sql, values } = found.statement;
    return { name: `${call}${total ? ', total' : ''}`, most: 3, run: () => raw.query(sql, values) };
  });
}

async function committer(database: Database): Promise<() => Promise<void>> {
  const event = () => ({ kind: 'statusUpdate' as const, payload: '{"bench":true}', writeId: randomUUID() });
  const taskId = randomUUID();
  const lease = { holder: HOLDER, ttlMs: 3_600_000 };
  const stays = { statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null };
  await database.journal.createTask({
    ...{ taskId, scope: MANY, contextId: taskId, ...lease, ...stays },
    ...{ state: 'TASK_STATE_WORKING', events: [{ ...event(), kind: 'task' }] },
  });
  let expectedVersion = 1;
  return async () => {
    const write = { taskId, expectedVersion, holder: HOLDER, epoch: 1, events: [event()], state: null };
    const { ok } = await database.journal.commit({ ...write, ...stays });
    if (!ok) throw new Error('a commit was refused');
    expectedVersion += 1;
  };
}
