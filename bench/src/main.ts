import { availableParallelism } from 'node:os';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableProviders, type TestProvider } from '@a2a-cluster/testing';
import { benchmarks } from './benchmarks/index.js';
import type { Benchmark } from './benchmark.js';
import { readCommandLine, type Wish } from './command-line.js';
import { serverVersions } from './harness/server-versions.js';
import { isOk, toJson, type Report } from './report/json.js';
import { toMarkdown } from './report/markdown.js';
import { putBetweenMarks } from './report/page.js';
import { writeSummary } from './report/profile-summary.js';
import { runBenchmarks } from './run.js';

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

process.exitCode = await main(readCommandLine(process.argv.slice(2)));

async function main(wish: Wish): Promise<number> {
  if (wish.list) {
    for (const { id, title, databases, onDemand } of benchmarks)
      print(
        `${id.padEnd(5)} ${title} [${databases.join(', ')}]${onDemand === true ? ' (only by name)' : ''}`,
      );
    return 0;
  }
  const chosen = choose(wish.ids);
  if (chosen === null) return 2;
  const databases = await databasesOf(wish);
  if (databases.length === 0) return 2;
  const report = await runBenchmarks({
    benchmarks: chosen,
    databases,
    quick: wish.quick,
    minutes: wish.minutes,
    profileFolder: wish.profile ?? null,
    say,
  });
  if (wish.profile !== undefined) say(`Where the time went: ${writeSummary(wish.profile)}`);
  await tell(report, wish, databases);
  return isOk(report) ? 0 : 1;
}

function choose(ids: readonly string[]): readonly Benchmark[] | null {
  if (ids.length === 0) return benchmarks.filter(({ onDemand }) => onDemand !== true);
  const means = (wanted: string, id: string): boolean =>
    id === wanted || (id.startsWith(wanted) && /^[a-z]+$/.test(id.slice(wanted.length)));
  const unknown = ids.filter((wanted) => !benchmarks.some(({ id }) => means(wanted, id)));
  if (unknown.length > 0) {
    say(`There is no benchmark ${unknown.join(', ')}; --list names them.`);
    return null;
  }
  return benchmarks.filter(({ id }) => ids.some((wanted) => means(wanted, id)));
}

async function databasesOf({ databases }: Wish): Promise<readonly TestProvider[]> {
  const available = await availableProviders();
  if (databases.length === 0) return available;
  const missing = databases.filter((database) => !available.includes(database));
  if (missing.length === 0) return databases;
  say(`No ${missing.join(', ')} answers; TEST_POSTGRES_URL and TEST_MYSQL_URL say where the servers are.`);
  return [];
}

async function tell(report: Report, wish: Wish, databases: readonly TestProvider[]): Promise<void> {
  const table = toMarkdown(report, {
    cores: availableParallelism(),
    node: process.versions.node,
    servers: await serverVersions(databases),
    date: new Date().toISOString().slice(0, 10),
  });
  if (wish.write !== undefined)
    writeFileSync(wish.write, putBetweenMarks(readFileSync(wish.write, 'utf8'), table));
  print(wish.json ? JSON.stringify(toJson(report), null, 2) : table);
}
