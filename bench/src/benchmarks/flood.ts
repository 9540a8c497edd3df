import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { createSilentLogger, createSystemClock } from '@a2a-cluster/core';
import { createDatabase } from '@a2a-cluster/db';
import { createJournal } from '@a2a-cluster/task-store';
import { turnOf, type Cluster } from '@a2a-cluster/cluster';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { BareCommitter, captureCommit } from '../baselines/bare-commit.js';
import { alternate, ratioOf } from '../harness/alternate.js';
import { callContext, messageOf, openCluster } from '../harness/local-cluster.js';
import { median } from '../harness/statistics.js';
import { timeMs } from '../harness/time.js';
import { chunkEvent, endEvent, firstEvent } from '../servers/agent.js';
import { Committer } from './commit.js';

const TURNS = 32;

/** B6: how many events a second the journal takes from many turns at once. */
export const flood: Benchmark = {
  id: 'B6',
  title: 'events per second of 1, 8 and 32 turns, beside one statement per event on bare pg',
  databases: ['postgresql'],
  run: async (context) => {
    const url = await context.freshDatabase();
    // Apart: the sweepers of the clusters would cut leases as long as these.
    const bareUrl = await context.freshDatabase();
    const pool = new pg.Pool({ connectionString: bareUrl, max: TURNS });
    // Its database is dropped while the last connections still say goodbye.
    pool.on('error', () => {});
    context.cleanUp(() => pool.end());
    const bare = await bareCommitters(context, bareUrl);
    const clusters = {
      hints: await openCluster(context, { databaseUrl: url, executor: flooding }),
      silent: await openCluster(context, { databaseUrl: url, executor: flooding, hints: 'poll' }),
    };
    const figures: Figure[] = [];
    for (const turns of context.quick ? [TURNS] : [1, 8, TURNS])
      figures.push(...(await compare(context, { turns, pool, bare, clusters })));
    return figures;
  },
};

interface Arms {
  readonly turns: number;
  readonly pool: pg.Pool;
  readonly bare: readonly BareCommitter[];
  readonly clusters: { readonly hints: Cluster; readonly silent: Cluster };
}

async function compare(context: BenchContext, arms: Arms): Promise<Figure[]> {
  const { turns, pool, bare, clusters } = arms;
  const size = context.quick ? 50 : 400;
  const floods = { events: 3 * size, drain: false };
  const numbers = await alternate({
    rounds: context.quick ? 2 : 9,
    arms: {
      bare: () => bareRate({ pool, bare: bare.slice(0, turns), events: size }),
      flood: () => turnRate(clusters.hints, { turns, ...floods }),
      silent: () => turnRate(clusters.silent, { turns, ...floods }),
      single: () => turnRate(clusters.hints, { turns, events: size, drain: true }),
    },
  });
  const figure = (name: keyof typeof numbers, text: string, limit: number): Figure => {
    const { value, spread } = ratioOf(numbers[name], numbers.bare);
    return {
      figure: `events per second, ${turns} turns ${text} / bare pg, ${turns} connections`,
      unit: 'ratio',
      value,
      bar: turns === TURNS && limit > 0 ? { op: '>=', limit } : null,
      baseline: 'bare pg, the same prepared statement per event',
      spread,
      detail: { 'ours/s': median(numbers[name]), 'bare/s': median(numbers.bare) },
    };
  };
  return [
    figure('flood', 'that flood', 3),
    figure('single', 'with one event in flight', 0.6),
    figure('silent', 'that flood, no hints', 0),
  ];
}

async function bareCommitters(context: BenchContext, url: string): Promise<readonly BareCommitter[]> {
  const database = await createDatabase({ url, ttlMs: 3_600_000 });
  context.cleanUp(() => database.close());
  const journal = createJournal({
    ...{ database, clock: createSystemClock(), logger: createSilentLogger(), holder: 'bench' },
    ...{ ttlMs: 3_600_000, onCommitted: () => {} },
  });
  const made: BareCommitter[] = [];
  for (let turn = 0; turn < TURNS; turn += 1)
    made.push(new BareCommitter(await captureCommit(async () => (await Committer.open(journal)).next())));
  return made;
}

async function bareRate(parts: {
  readonly pool: pg.Pool;
  readonly bare: readonly BareCommitter[];
  readonly events: number;
}): Promise<number> {
  const { pool, bare, events } = parts;
  const tookMs = await timeMs(() =>
    Promise.all(
      bare.map(async (committer) => {
        for (let event = 0; event < events; event += 1) await committer.next(pool);
      }),
    ),
  );
  return (bare.length * events * 1000) / tookMs;
}

interface TurnLoad {
  readonly turns: number;
  readonly events: number;
  readonly drain: boolean;
}

async function turnRate(cluster: Cluster, { turns, events, drain }: TurnLoad): Promise<number> {
  const text = JSON.stringify({ events, drain });
  const one = (): Promise<unknown> => cluster.requestHandler.sendMessage(messageOf(text), callContext());
  const tookMs = await timeMs(() => Promise.all(Array.from({ length: turns }, one)));
  return (turns * events * 1000) / tookMs;
}

/** Publishes as fast as it can, giving way now and then; or one event after the other is stored. */
const flooding: AgentExecutor = {
  cancelTask: async () => {},
  execute: async (context, bus) => {
    const content = context.userMessage.parts[0]?.content;
    const load = JSON.parse(content?.$case === 'text' ? content.value : '') as TurnLoad;
    bus.publish(firstEvent(context));
    for (let event = 0; event < load.events - 2; event += 1) {
      bus.publish(chunkEvent(context, { text: `${event} lorem ipsum dolor sit amet`, append: event > 0 }));
      if (load.drain) await turnOf(context).drained();
      else if (event % 10 === 0) await nextTurn();
    }
    bus.publish(endEvent(context, { messageId: randomUUID() }));
  },
};
