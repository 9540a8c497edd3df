import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createSilentLogger, createSystemClock, type NewEvent } from '@a2a-cluster/core';
import { createDatabase, type Database } from '@a2a-cluster/db';
import { createJournal, type Journal } from '@a2a-cluster/task-store';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { BareCommitter, captureCommit } from '../baselines/bare-commit.js';
import { bareMysqlCommit, bareSqliteCommit } from '../baselines/bare-commit-others.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { countStatements, totalOf } from '../harness/statements.js';
import { median, quantile } from '../harness/statistics.js';
import { samplesMs } from '../harness/time.js';

const TTL_MS = 3_600_000;
const HOLDER = 'bench';

/** B1a: one event through the journal, beside the bare driver with the same statements. */
export const commit: Benchmark = {
  id: 'B1a',
  title: 'commit of one event, one client',
  databases: ['postgresql', 'mysql', 'sqlite'],
  run: async (context) => {
    const url = await context.freshDatabase();
    const database = await createDatabase({ url, ttlMs: TTL_MS });
    context.cleanUp(() => database.close());
    return compare(context, { database, url });
  },
};

interface Target {
  readonly database: Database;
  readonly url: string;
}

async function compare(context: BenchContext, { database, url }: Target): Promise<Figure[]> {
  const journal = openJournal(database);
  const ours = await Committer.open(journal);
  const bare = await openBare(context, { journal, url });
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
      bare: async () => quantile(await samplesMs(each, bare), 0.5),
    },
  });
  const { value, spread } = ratioOf(numbers.ours, numbers.bare);
  const onPostgres = context.database === 'postgresql';
  const baseline = BASELINES[context.database];
  const figure: Figure = {
    figure: 'commit of one event through the journal / bare driver, p50',
    unit: 'ratio',
    value,
    bar: onPostgres ? { op: '<=', limit: 1.8 } : null,
    ...{ baseline, spread },
    detail: {
      'ours ms': median(numbers.ours),
      'bare ms': median(numbers.bare),
      'ours p99 ms': median(p99s),
    },
  };
  return onPostgres ? [figure, await statementsFigure(ours)] : [figure];
}

const BASELINES = {
  postgresql: 'bare pg, the same prepared statement',
  mysql: 'bare mariadb, the same two texts',
  sqlite: 'bare better-sqlite3, the same prepared statements, synchronous = FULL',
} as const;

async function openBare(
  context: BenchContext,
  { journal, url }: { readonly journal: Journal; readonly url: string },
): Promise<() => Promise<void>> {
  if (context.database === 'postgresql') {
    const pool = new pg.Pool({ connectionString: url, max: 10 });
    context.cleanUp(() => pool.end());
    const bare = new BareCommitter(await captureCommit(async () => (await Committer.open(journal)).next()));
    return () => bare.next(pool);
  }
  const { taskId } = await Committer.open(journal);
  const task = { taskId, holder: HOLDER, version: 1, payload: PAYLOAD };
  return context.database === 'mysql'
    ? bareMysqlCommit(context, url, task)
    : bareSqliteCommit(context, url, task);
}

async function statementsFigure(ours: Committer): Promise<Figure> {
  const counting = countStatements();
  for (let index = 0; index < 10; index += 1) await ours.next();
  const value = totalOf(counting.take()) / 10;
  counting.stop();
  return {
    figure: 'statements of one commit',
    unit: 'statements',
    value,
    bar: { op: '<=', limit: 1 },
    baseline: 'one statement, one round trip',
    spread: null,
  };
}

function openJournal(database: Database): Journal {
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
    readonly taskId: string,
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
