import { makeWorkerUtils, Logger } from 'graphile-worker';
import PgBoss from 'pg-boss';
import { openRaw, type RawConnection } from '@a2a-cluster/testing';

/** A job queue that takes back what a dead worker was at. */
export interface AbandonedJobs {
  readonly name: string;
  /** In which way its work is not ours, as a clause. */
  readonly differs: string;
  /** Makes `count` jobs that a dead worker holds. */
  make(count: number): Promise<void>;
  /** Its own recovery, all of them. */
  recover(): Promise<void>;
  /** Rejects unless all of them were recovered. */
  expectRecovered(count: number): Promise<void>;
  close(): Promise<void>;
}

const QUEUE = 'turns';

/** `boss.expire()`, what pg-boss 10 itself calls once a minute. */
export async function openPgBoss(url: string): Promise<AbandonedJobs> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, max: 2 });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(QUEUE);
  const raw = await openRaw(url);
  return {
    name: `pg-boss's maintenance, expire()`,
    differs:
      'one transaction deletes and inserts every job again as failed; no event log, no fence, no batches',
    make: async (count) => {
      await raw.run('TRUNCATE pgboss.job');
      await boss.insert(
        Array.from({ length: count }, () => ({ name: QUEUE, data: {}, retryLimit: 0, expireInSeconds: 60 })),
      );
      await raw.run(`UPDATE pgboss.job SET state = 'active', started_on = now() - interval '1 hour';
        ANALYZE pgboss.job`);
    },
    // The type declarations leave it out; it is a function of the object like all others.
    recover: () => (boss as unknown as { expire(): Promise<void> }).expire(),
    expectRecovered: (count) => expectCount(raw, `pgboss.job WHERE state = 'failed'`, count),
    close: async () => {
      await boss.stop({ graceful: false });
      await raw.close();
    },
  };
}

/** `forceUnlockWorkers()`: left alone, graphile-worker waits four hours and then does the same. */
export async function openGraphileWorker(url: string): Promise<AbandonedJobs> {
  const utils = await makeWorkerUtils({
    connectionString: url,
    maxPoolSize: 2,
    logger: new Logger(() => () => {}),
  });
  await utils.migrate();
  const raw = await openRaw(url);
  return {
    name: `graphile-worker's forceUnlockWorkers()`,
    differs: 'somebody has to name the dead worker; the jobs are only free again, nothing is told to anybody',
    make: async (count) => {
      await raw.run('TRUNCATE graphile_worker._private_jobs');
      await raw.run(`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
        SELECT json_populate_record(NULL::graphile_worker.job_spec, '{"identifier": "${QUEUE}", "payload": {}}')
          FROM generate_series(1, ${count})))`);
      await raw.run(`UPDATE graphile_worker._private_jobs SET locked_by = 'dead', locked_at = now() - interval '1 hour',
        attempts = 1; ANALYZE graphile_worker._private_jobs`);
    },
    recover: () => utils.forceUnlockWorkers(['dead']),
    expectRecovered: (count) =>
      expectCount(raw, 'graphile_worker._private_jobs WHERE locked_by IS NULL AND attempts = 1', count),
    close: async () => {
      await utils.release();
      await raw.close();
    },
  };
}

async function expectCount(raw: RawConnection, from: string, count: number): Promise<void> {
  const [row] = await raw.query(`SELECT count(*)::int AS count FROM ${from}`);
  if (row?.['count'] !== count) throw new Error(`${String(row?.['count'])} of ${count} jobs were recovered`);
}
