import { once, EventEmitter } from 'node:events';
import { openRaw } from '@a2a-cluster/testing';
import type { LeaseStatements } from '@a2a-cluster/db';
import type { BenchContext, Figure } from '../../benchmark.js';
import { countMysql } from '../../harness/mysql-statements.js';
import { countStatements, describeCounts, totalOf } from '../../harness/statements.js';
import { holdLeases } from './held-leases.js';

/** What some work sent. */
interface Sent {
  /** Statements that read or write rows; BEGIN, COMMIT and ROLLBACK stand in the detail. */
  readonly statements: number;
  /** What a failed round trip would have to repeat: statements of their own, or whole transactions. */
  readonly transactions: number;
  readonly detail: NonNullable<Figure['detail']>;
}

interface Counter {
  take(): Promise<Sent>;
  stop(): void;
}

/** Statements of one beat, all rows free. */
export async function beatStatements(context: BenchContext, leases: number): Promise<Figure> {
  const counter = openCounter(context);
  const url = await context.freshDatabase();
  const held = await holdLeases({ context, url, holder: 'ours', count: leases });
  await held.beat();
  await counter.take();
  await held.beat();
  const sent = await counter.take();
  counter.stop();
  return {
    figure: `heartbeat of ${leases} leases: statements`,
    unit: 'statements',
    value: sent.statements,
    bar: { op: '<=', limit: context.database === 'mysql' ? 2 : 1 },
    baseline: `${leases} with one renewal per task`,
    spread: null,
    detail: sent.detail,
  };
}

/**
 * The same while another connection has some of the rows locked, as a commit does on MySQL, and lets them go when the
 * beat has passed them over: one look at what they are now, and one renewal for each.
 */
export async function beatPastLocks(
  context: BenchContext,
  size: { readonly leases: number; readonly locked: number },
): Promise<Figure> {
  const { leases, locked } = size;
  const url = await context.freshDatabase();
  const locker = await openRaw(url);
  context.cleanUp(() => locker.close());
  const counter = openCounter(context);
  const singly = new EventEmitter();
  const passed = { of: null as (() => Promise<void>) | null };
  const wrap = (statements: LeaseStatements): LeaseStatements => ({
    ...statements,
    beat: async (beat) => {
      const renewed = await statements.beat(beat);
      await passed.of?.();
      return renewed;
    },
    beatOne: async (beat) => {
      const renewed = await statements.beatOne(beat);
      singly.emit('beat', renewed);
      return renewed;
    },
  });
  const held = await holdLeases({ context, url, holder: 'ours', count: leases, wrap });
  await held.beat();
  const ids = held.taskIds.slice(0, locked).map((taskId) => `'${taskId}'`);
  await locker.run('BEGIN');
  await locker.query(`SELECT task_id FROM task_leases WHERE task_id IN (${ids.join(', ')}) FOR UPDATE`);
  await counter.take();
  passed.of = () => locker.run('COMMIT');
  const recovered = renewals(singly, locked);
  await held.beat({ locked });
  await recovered;
  const sent = await counter.take();
  counter.stop();
  await held.close();
  return {
    figure: `heartbeat of ${leases} leases, ${locked} of them locked when it comes by: transactions`,
    unit: 'transactions',
    value: sent.transactions,
    bar: { op: '<=', limit: 2 + locked },
    baseline: 'the beat, one look at the rows it could not have, one renewal for each of them',
    spread: null,
    detail: sent.detail,
  };
}

async function renewals(singly: EventEmitter, count: number): Promise<void> {
  for (let left = count; left > 0;) {
    const [renewed] = (await once(singly, 'beat')) as unknown[];
    if (renewed !== null) left -= 1;
  }
}

/** Statements per interval of several replicas, each with its own leases. */
export async function replicaStatements(
  context: BenchContext,
  size: { readonly replicas: number; readonly leases: number },
): Promise<Figure> {
  const { replicas, leases } = size;
  const counter = openCounter(context);
  const url = await context.freshDatabase();
  const holders = Array.from({ length: replicas }, (_, at) => `replica-${at}`);
  const helds = await Promise.all(
    holders.map((holder) => holdLeases({ context, url, holder, count: leases, atATime: 1 })),
  );
  const beatAll = (): Promise<unknown> => Promise.all(helds.map((held) => held.beat()));
  await beatAll();
  await counter.take();
  await beatAll();
  const sent = await counter.take();
  counter.stop();
  await Promise.all(helds.map((held) => held.close()));
  return {
    figure: `${replicas} replica${replicas === 1 ? '' : 's'} with ${leases} leases each: statements per interval`,
    unit: 'statements',
    value: sent.statements,
    bar: null,
    baseline: `${replicas * leases} with one renewal per task`,
    spread: null,
    detail: sent.detail,
  };
}

/** On MySQL the server counts, on PostgreSQL every query of the driver is one statement. */
function openCounter(context: BenchContext): Counter {
  const counter = context.database === 'mysql' ? mysqlCounter() : postgresCounter();
  context.cleanUp(counter.stop);
  return counter;
}

function postgresCounter(): Counter {
  const count = countStatements();
  return {
    take: async () => {
      const counts = new Map(count.take());
      // Of whoever held the locks: a beat has none of its own.
      counts.delete('COMMIT');
      const total = totalOf(counts);
      return { statements: total, transactions: total, detail: { sent: describeCounts(counts) } };
    },
    stop: () => count.stop(),
  };
}

function mysqlCounter(): Counter {
  const count = countMysql();
  return {
    take: async () => {
      const { roundTrips, statements } = await count.take();
      const of = (name: string): number => statements.get(name) ?? 0;
      const begun = of('begin');
      // A read outside of a transaction is one of its own; inside one stands the read that locks.
      const alone = of('select') - begun;
      const detail = Object.fromEntries([...statements].filter(([, times]) => times > 0));
      return {
        statements: of('select') + of('update'),
        transactions: begun + alone,
        detail: { 'round trips': roundTrips, ...detail },
      };
    },
    stop: () => count.stop(),
  };
}
