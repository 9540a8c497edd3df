import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createSilentLogger, createSystemClock, type NewEvent } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createJournal, type Journal } from '@a2a-cluster/task-store';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { BareCommitter, captureCommit } from '../baselines/bare-commit.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { countStatements, totalOf } from '../harness/statements.js';
import { median, quantile } from '../harness/statistics.js';
import { samplesMs } from '../harness/time.js';

const TTL_MS = 3_600_000;
const HOLDER = 'bench';

/** B1a: one event through the journal, beside the bare driver with the same one statement. */
export const commit: Benchmark = {
  id: 'B1a',
  title: 'commit of one event, one client',
  databases: ['postgresql'],
  run: async (context) => {
    const url = await context.freshDatabase();
    const database = await createDatabase({ url, ttlMs: TTL_MS });
    context.cleanUp(() => database.close());
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    context.cleanUp(() => pool.end());
    return compare(context, { database, pool });
  },
};

async function compare(
  context: BenchContext,
  { database, pool }: { readonly database: Database; readonly pool: pg.Pool },
): Promise<Figure[]> {
  const journal = await openJournal(database);
  const ours = await Committer.open(journal);
  const bare = new BareCommitter(await captureCommit(async () => (await Committer.open(journal)).next()));
  const p99s: number[] = [];
  const each = context.quick ? 50 : 300;
  const numbers = await alternate({
    rounds: context.quick ? 3 : 15,
    arms: {
      ours: async () => {
        const samples = await samplesMs(each, () => ours.next());
        p99s.push(quantile(samples, 0.99));
        return quantile(samples, 0.5);
      },
      bare: async () => quantile(await samplesMs(each, () => bare.next(pool)), 0.5),
    },
  });
  const counting = countStatements();
  for (let index = 0; index < 10; index += 1) await ours.next();
  const statements = totalOf(counting.take()) / 10;
  counting.stop();
  const { value, spread } = ratioOf(numbers.ours, numbers.bare);
  const detail = {
    'ours ms': median(numbers.ours),
    'bare ms': median(numbers.bare),
    'ours p99 ms': median(p99s),
  };
  const baseline = 'bare pg, the same prepared statement';
  return [
    {
      figure: 'commit of one event through the journal / bare pg, p50',
      unit: 'ratio',
      value,
      bar: { op: '<=', limit: 1.8 },
      ...{ baseline, spread, detail },
    },
    {
      figure: 'statements of one commit',
      unit: 'statements',
      value: statements,
      bar: { op: '<=', limit: 1 },
      ...{ baseline, spread: null },
    },
  ];
}

async function openJournal(database: Database): Promise<Journal> {
  return createJournal({
    database,
    clock: createSystemClock(),
    logger: createSilentLogger(),
    holder: HOLDER,
    ttlMs: TTL_MS,
    onCommitted: () => {},
  });
}

/** One task under one lease, one event after the other. */
export class Committer {
  private readonly lost = new AbortController();
  private readonly scope = { tenant: '', owner: 'bench' };
  private version = 1;

  private constructor(
    private readonly journal: Journal,
    private readonly taskId: string,
  ) {}

  static async open(journal: Journal): Promise<Committer> {
    const made = new Committer(journal, randomUUID());
    const { taskId, scope, lost } = made;
    const created = await journal.create({
      ...{ taskId, scope, contextId: 'context', holder: HOLDER, ttlMs: TTL_MS, lost: lost.signal },
      ...{ state: 'TASK_STATE_WORKING', statusTimestamp: null, terminal: false, clearsPending: false },
      ...{ events: [event('task')], snapshot: null },
    });
    if (!created.ok) throw new Error('the task was not created');
    return made;
  }

  async next(): Promise<void> {
    const { journal, taskId, scope, version, lost } = this;
    const result = await journal.commit({
      authority: { taskId, holder: HOLDER, epoch: 1, lost: lost.signal, renewNow: async () => 'unknown' },
      ...{ scope, expectedVersion: version, currentState: 'TASK_STATE_WORKING', state: null },
      ...{ statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null },
      events: [event('artifactUpdate')],
    });
    if (!result.ok) throw new Error(`a commit was refused: ${result.refusal}`);
    this.version = result.version;
  }
}

const PAYLOAD = JSON.stringify({
  artifactUpdate: { taskId: 'task', artifact: { parts: [{ text: 'x'.repeat(100) }] } },
});

function event(kind: NewEvent['kind']): NewEvent {
  return { kind, payload: PAYLOAD, writeId: randomUUID() };
}
