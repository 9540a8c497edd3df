import pg from 'pg';
import { turnOf } from '@a2a-cluster/cluster';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { randomUUID } from 'node:crypto';
import type { Benchmark, BenchContext, Figure } from '../benchmark.js';
import { callContext, messageOf, openCluster } from '../harness/local-cluster.js';
import { countStatements, totalOf } from '../harness/statements.js';
import { median, spreadOf } from '../harness/statistics.js';
import { timeMs } from '../harness/time.js';
import { chunkEvent, endEvent, firstEvent } from '../servers/agent.js';

/** B1d: what an event of a long turn costs, beside one of a young turn. */
export const longTurn: Benchmark = {
  id: 'B1d',
  title: 'time and WAL bytes of event 10 000 beside event 100, and a read of that task',
  databases: ['postgresql'],
  run: async (context) => {
    const databaseUrl = await context.freshDatabase();
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    context.cleanUp(() => pool.end());
    const probe = new Probe(context, pool);
    const cluster = await openCluster(context, { databaseUrl, executor: probe.agent });
    await cluster.requestHandler.sendMessage(messageOf('go'), callContext());
    return [...probe.figures(), await readFigure(context, pool)];
  },
};

interface Sample {
  readonly ms: number;
  readonly walBytes: number;
}

/** An agent that measures a window of its own events when the turn is young, and one when it is old. */
class Probe {
  private readonly windows: { readonly from: number; readonly samples: Sample[] }[] = [];
  private readonly length: number;
  private readonly starts: readonly [number, number];

  constructor(
    context: BenchContext,
    private readonly pool: pg.Pool,
  ) {
    this.length = context.quick ? 20 : 200;
    this.starts = context.quick ? [20, 500] : [100, 10_000];
  }

  readonly agent: AgentExecutor = {
    cancelTask: async () => {},
    execute: async (context, bus) => {
      bus.publish(firstEvent(context));
      let index = 0;
      const publish = (): void =>
        bus.publish(chunkEvent(context, { text: `${index} `.padEnd(100, 'x'), append: index++ > 0 }));
      const { drained } = turnOf(context);
      for (const from of this.starts) {
        while (index < from) {
          publish();
          if (index % 20 === 0) await drained();
        }
        await drained();
        await this.pool.query('CHECKPOINT');
        this.windows.push({ from, samples: await this.measure(publish, drained) });
      }
      bus.publish(endEvent(context, { messageId: randomUUID() }));
    },
  };

  private async measure(publish: () => void, drained: () => Promise<void>): Promise<Sample[]> {
    const samples: Sample[] = [];
    for (let event = 0; event < this.length; event += 1) {
      const before = await this.walPosition();
      const ms = await timeMs(() => {
        publish();
        return drained();
      });
      samples.push({ ms, walBytes: (await this.walPosition()) - before });
    }
    return samples;
  }

  private async walPosition(): Promise<number> {
    const sql = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS position`;
    const { rows } = await this.pool.query<{ position: number }>(sql);
    return rows[0]?.position ?? NaN;
  }

  figures(): Figure[] {
    const [young, old] = this.windows;
    if (young === undefined || old === undefined) throw new Error('the turn did not run to its end');
    const figure = (name: 'ms' | 'walBytes', text: string): Figure => {
      const of = (samples: readonly Sample[]): number[] => samples.map((sample) => sample[name]);
      const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
      return {
        figure: `${text} of event ${old.from} / event ${young.from}`,
        unit: 'ratio',
        value: median(of(old.samples)) / median(of(young.samples)),
        bar: { op: '<=', limit: 1.3 },
        baseline: 'the same turn when it was young; medians, so that full-page images stand apart',
        spread: spreadOf(of(old.samples).map((value) => value / median(of(young.samples)))),
        detail: {
          'young median': median(of(young.samples)),
          'old median': median(of(old.samples)),
          'young mean': mean(of(young.samples)),
          'old mean (snapshots and full pages too)': mean(of(old.samples)),
        },
      };
    };
    return [figure('ms', 'time'), figure('walBytes', 'WAL bytes')];
  }
}

/** How much of the log a reader has to read behind the snapshot, and that it is one statement. */
async function readFigure(context: BenchContext, pool: pg.Pool): Promise<Figure> {
  const { rows } = await pool.query<{ id: string; behind: number }>(
    'SELECT t.id, t.version - coalesce(s.version, 0) AS behind FROM tasks t LEFT JOIN task_snapshots s ON s.task_id = t.id',
  );
  const [task] = rows;
  if (task === undefined) throw new Error('the task is gone');
  const cluster = await openCluster(context, { databaseUrl: urlOf(pool), executor: noAgent });

  const counting = countStatements();
  const ms = await timeMs(() =>
    cluster.requestHandler.getTask({ tenant: '', id: task.id, historyLength: undefined }, callContext()),
  );
  const counts = counting.take();
  counting.stop();
  return {
    figure: 'statements of a read of that task',
    unit: 'statements',
    value: [...counts].filter(([label]) => label === 'readTask').reduce((sum, [, count]) => sum + count, 0),
    bar: { op: '<=', limit: 1 },
    baseline: 'one statement',
    spread: null,
    detail: { ms, 'all statements meanwhile': totalOf(counts), 'events behind the snapshot': task.behind },
  };
}

function urlOf(pool: pg.Pool): string {
  return String(pool.options.connectionString);
}

const noAgent: AgentExecutor = { execute: async () => {}, cancelTask: async () => {} };
