import { readFileSync } from 'node:fs';
import pg from 'pg';
import { deployMigrations } from '@a2a-cluster/db';
import { createTestDatabase, migrationFiles, workspaceRoot, type TestDatabase } from '@a2a-cluster/testing';
import { nowMs } from '../world/now.js';
import { fill, sizesOf } from './fill.js';
import { startTraffic, type Sent, type Traffic } from './traffic.js';

/** The last migration of the version that is upgraded from. */
const FIRST = 'push_notification_configs';
/** How long traffic runs alone, for comparison. */
const ALONE_MS = 3_000;

/** What traffic met during one step. */
export interface Step {
  readonly name: string;
  readonly tookMs: number;
  /** The longest statement of each kind, in milliseconds. */
  readonly longestMs: Readonly<Record<string, number>>;
  readonly statements: number;
}

/** What an upgrade came to. */
export interface Upgrade {
  readonly tasks: number;
  readonly configs: number;
  readonly steps: readonly Step[];
  /** What must be true and is not. */
  readonly problems: readonly string[];
}

/** The statements of prisma/README.md that are run before the deploy where a table is large. */
export function concurrentBuilds(): readonly string[] {
  const readme = readFileSync(`${workspaceRoot}prisma/README.md`, 'utf8');
  return readme.match(/^CREATE INDEX CONCURRENTLY .*;$/gm) ?? [];
}

const indexOf = (statement: string): string => /CONCURRENTLY "(\w+)"/.exec(statement)?.[1] ?? '';

/**
 * R25: fills the tables of the first migrations, lets traffic of the old version run, builds the indexes as the README
 * says (one build is cancelled and repaired), deploys all later migrations, and says what the traffic waited for.
 * @param say told what is under way, for people.
 */
export async function runUpgrade(tasks: number, say: (text: string) => void = () => {}): Promise<Upgrade> {
  const at = migrationFiles('postgresql').findIndex(({ name }) => name.endsWith(FIRST)) + 1;
  const database = await createTestDatabase({ provider: 'postgresql', upTo: at });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const sizes = sizesOf(tasks);
    say(`filling ${tasks} tasks and ${sizes.configs} push configs`);
    await fill(client, sizes);
    const traffic = await startTraffic(database.url, sizes.turns);
    const upgrade = new RunningUpgrade({ database, client, traffic, say });
    try {
      await upgrade.run();
    } finally {
      await traffic.stop();
    }
    return { tasks, configs: sizes.configs, steps: upgrade.steps, problems: upgrade.problems };
  } finally {
    await client.end();
    await database.drop();
  }
}

interface Parts {
  readonly database: TestDatabase;
  readonly client: pg.Client;
  readonly traffic: Traffic;
  readonly say: (text: string) => void;
}

class RunningUpgrade {
  readonly steps: Step[] = [];
  readonly problems: string[] = [];

  constructor(private readonly parts: Parts) {}

  async run(): Promise<void> {
    const { client, database } = this.parts;
    const builds = concurrentBuilds();
    await this.step('traffic alone', () => new Promise((resolve) => setTimeout(resolve, ALONE_MS)));
    const [first = ''] = builds;
    await this.step('a cancelled build', () => this.cancelBuild(first));
    await this.step('its repair', () => this.repair(first));
    for (const build of builds.slice(1))
      await this.step(`build ${indexOf(build)}`, () => client.query(build));
    await this.step('migrate deploy', () => deployMigrations({ databaseUrl: database.url }));
    await this.step('traffic afterwards', () => new Promise((resolve) => setTimeout(resolve, ALONE_MS)));
    const invalid = await this.invalidIndexes();
    if (invalid.length > 0) this.problems.push(`invalid indexes are left: ${invalid.join()}`);
  }

  private async step(name: string, work: () => Promise<unknown>): Promise<void> {
    const { traffic, say } = this.parts;
    traffic.take();
    const startedAtMs = nowMs();
    await work();
    const tookMs = nowMs() - startedAtMs;
    // What began in the step and waits still is part of it.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const sent = traffic.take();
    const step = { name, tookMs, longestMs: longestOf(sent), statements: sent.length };
    this.steps.push(step);
    say(`${name}: ${Math.round(tookMs)} ms, longest ${JSON.stringify(step.longestMs)}`);
  }

  /** Ends a build in the middle, as an operator or a lost connection does: it leaves an invalid index behind. */
  private async cancelBuild(statement: string): Promise<void> {
    const { database, client } = this.parts;
    const builder = new pg.Client({ connectionString: database.url });
    await builder.connect();
    const { rows } = await builder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ended = builder.query(statement).then(
      () => 'built',
      () => 'cancelled',
    );
    // The catalog has the index before the first row is read.
    while ((await this.invalidIndexes()).length === 0 && (await soon(ended)) === undefined);
    await client.query('SELECT pg_cancel_backend($1)', [rows[0]?.pid]);
    const how = await ended;
    await builder.end();
    if (how === 'cancelled' && !(await this.invalidIndexes()).includes(indexOf(statement)))
      this.problems.push('a cancelled build left no invalid index');
    if (how === 'built') this.problems.push('the build was over before it could be cancelled');
  }

  /** As prisma/README.md says: drop what is invalid, build again. */
  private async repair(statement: string): Promise<void> {
    const { client } = this.parts;
    for (const name of await this.invalidIndexes()) await client.query(`DROP INDEX CONCURRENTLY "${name}"`);
    await client.query(statement.replace('INDEX CONCURRENTLY', 'INDEX CONCURRENTLY IF NOT EXISTS'));
  }

  private async invalidIndexes(): Promise<string[]> {
    const { rows } = await this.parts.client.query<{ name: string }>(
      'SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid',
    );
    return rows.map(({ name }) => name);
  }
}

/** What a promise has come to within a moment, or undefined. */
function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(resolve, 5, undefined))]);
}

function longestOf(sent: readonly Sent[]): Record<string, number> {
  const longest: Record<string, number> = {};
  for (const { kind, tookMs } of sent) longest[kind] = Math.max(longest[kind] ?? 0, Math.round(tookMs));
  return longest;
}
