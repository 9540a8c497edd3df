import type { BenchContext, Benchmark, Figure } from '../benchmark.js';
import { sendTurn } from '../harness/client.js';
import { openServerStatements, type ServerStatements } from '../harness/server-statements.js';
import { startServer, type BenchServer } from '../harness/server-process.js';
import { describeCounts } from '../harness/statements.js';
import { median, spreadOf } from '../harness/statistics.js';

/** Slow enough that no two events share a commit. */
const PACE_MS = 30;

/** What a replica asks whether or not a turn runs, and hints, which wait for nobody and nobody waits for. */
const NOT_OF_A_TURN =
  /^(ping|beat|readClock|nextExpiry|sweep|sweepOrphans|notify|readHeads|readFacts|look at)/;

/** B1c: the round trips of a quiet follow-up turn. */
export const followUp: Benchmark = {
  id: 'B1c',
  title: 'round trips of a quiet follow-up turn',
  databases: ['postgresql'],
  run: async (context) => {
    const databaseUrl = await context.freshDatabase();
    const witness = await openServerStatements(databaseUrl);
    if (witness) context.cleanUp(() => witness.close());
    const server = await startServer(context, { kind: 'cluster', databaseUrl });
    const figures: Figure[] = [];
    for (const events of [2, 10]) figures.push(await count(context, { server, events, witness }));
    return figures;
  },
};

async function count(
  context: BenchContext,
  parts: { readonly server: BenchServer; readonly events: number; readonly witness: ServerStatements | null },
): Promise<Figure> {
  const { server, events, witness } = parts;
  const { port } = server;
  const samples: number[] = [];
  const others: number[] = [];
  let last = '';
  let seen: number | null = null;
  for (let turn = 0; turn < (context.quick ? 2 : 10); turn += 1) {
    const parked = await sendTurn({ port, script: { events: 2, ask: true } });
    await server.stats();
    await witness?.take();
    await sendTurn({ port, taskId: parked.id, script: { events, paceMs: PACE_MS } });
    const { statements } = await server.stats();
    seen = (await witness?.take()) ?? null;
    const ofTurn = new Map(statements.filter(([label]) => !NOT_OF_A_TURN.test(label)));
    samples.push(sum(ofTurn));
    others.push(sum(new Map(statements)) - sum(ofTurn));
    last = describeCounts(new Map(statements));
  }
  return {
    figure: `round trips of a quiet follow-up turn of ${events} events, beyond one per event`,
    unit: 'statements',
    value: median(samples) - events,
    bar: { op: '<=', limit: 2 },
    baseline: 'the floor: one that opens the turn, one that reads the task, one per event',
    spread: spreadOf(samples.map((sample) => sample - events)),
    detail: {
      'of the replica meanwhile': median(others),
      'last turn': last,
      ...(seen === null ? {} : { 'pg_stat_statements, last turn': seen }),
    },
  };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((a, b) => a + b, 0);
}
