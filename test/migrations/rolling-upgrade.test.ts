import { describe, expect, jest, test } from '@jest/globals';
import { availableProviders, createTestDatabase, openRaw, type TestDatabase } from '@a2a-cluster/testing';
import { deployMigrations } from '../../packages/db/src/migrations/deploy.js';
import { startReplica, type ReplicaProcess } from '../integration/support/replica-process.js';
import { waitUntil } from '../integration/support/wait-until.js';
import { recordingOf, releases } from './support/recording.js';
import { replay } from './support/replay.js';

jest.setTimeout(240_000);

/** Never sweeps while the old version is played: what that sends would then depend on what a replica answered. */
const STILL = { LEASE_TTL_MS: '900000', LEASE_HEARTBEAT_MS: '1000', SWEEP_INTERVAL_MS: '700000' };

/** Turns on a replica, one after the other, until it is told to stop; the states they ended in. */
function turnsOn(replica: ReplicaProcess): { stop(): Promise<Set<string | undefined>> } {
  let stopped = false;
  const states = new Set<string | undefined>();
  const work = (async () => {
    do {
      const asked = await replica.client.send({ text: 'ask more' });
      const taskId = asked.result?.task?.id ?? '';
      const answer = await replica.client.send({ text: 'tick 2 5; done', taskId });
      states.add(answer.result?.task?.status.state);
    } while (!stopped);
    return states;
  })();
  return {
    stop: () => {
      stopped = true;
      return work;
    },
  };
}

/** Ends leases that the old version left behind, as when its last process was killed; the tasks they were of. */
async function killOldHolders(database: TestDatabase): Promise<string[]> {
  const raw = await openRaw(database.url);
  try {
    const rows = await raw.query(
      `SELECT t.id AS id FROM tasks t JOIN task_leases l ON l.task_id = t.id
        WHERE t.state = 'TASK_STATE_WORKING' AND l.cancel_requested_at IS NULL ORDER BY t.id`,
    );
    const past = { sqlite: '1', postgresql: "'2000-01-01'", mysql: "'2000-01-01'" }[database.provider];
    await raw.run(`UPDATE task_leases SET expires_at = ${past}`);
    return rows.map(({ id }) => String(id));
  } finally {
    await raw.close();
  }
}

/** Whether a replica of the new version has ended the task. */
async function swept(database: TestDatabase, taskId: string): Promise<boolean> {
  const raw = await openRaw(database.url);
  try {
    const [row] = await raw.query(
      `SELECT t.state AS state, e.holder AS holder FROM tasks t
         JOIN task_events e ON e.task_id = t.id AND e.seq = t.version WHERE t.id = '${taskId}'`,
    );
    return row?.['state'] === 'TASK_STATE_FAILED' && String(row['holder']).startsWith('new');
  } finally {
    await raw.close();
  }
}

const servers = availableProviders().filter((provider) => provider !== 'sqlite');

describe.each(releases)('while replicas of %s still run', (release) => {
  test.each(servers)(
    'the schema is migrated, a new replica works beside them and ends what they leave, on %s',
    async (provider) => {
      const recording = recordingOf(release, provider);
      const database = await createTestDatabase({ provider, upTo: recording.migrations.length });
      let replica: ReplicaProcess | undefined;
      let sweeper: ReplicaProcess | undefined;
      let turns: ReturnType<typeof turnsOn> | undefined;
      try {
        const half = Math.floor(recording.tests.length / 2);
        let deployed: Promise<unknown> | undefined;
        const between = async (at: number): Promise<void> => {
          // Not waited for: the old version goes on meanwhile.
          if (at === Math.floor(half / 2)) deployed = deployMigrations({ databaseUrl: database.url });
          if (at !== half) return;
          await deployed;
          replica = await startReplica({ databaseUrl: database.url, name: 'new-1', env: STILL });
          turns = turnsOn(replica);
        };
        const { failures } = await replay({ recording, url: database.url, between });
        expect(failures).toEqual([]);
        expect(await turns?.stop()).toEqual(new Set(['TASK_STATE_COMPLETED']));

        const left = await killOldHolders(database);
        expect(left.length).toBeGreaterThan(0);
        sweeper = await startReplica({ databaseUrl: database.url, name: 'new-2' });
        for (const taskId of left)
          await waitUntil({
            what: `the new version ends task ${taskId}`,
            limitMs: 60_000,
            ask: async () => (await swept(database, taskId)) || undefined,
          });
      } finally {
        await replica?.end();
        await sweeper?.end();
        await database.drop();
      }
    },
  );
});

describe('SQLite', () => {
  test('is migrated while nobody has the file open, and says so; what the old version left is taken over', async () => {
    const [release = ''] = releases;
    const recording = recordingOf(release, 'sqlite');
    const database = await createTestDatabase({ provider: 'sqlite', upTo: recording.migrations.length });
    let replica: ReplicaProcess | undefined;
    try {
      const open = await openRaw(database.url);
      // As a replica has it open.
      await open.query('PRAGMA journal_mode = WAL');
      await open.query('SELECT id FROM tasks');
      await expect(deployMigrations({ databaseUrl: database.url })).rejects.toThrow(
        /in use.*stop every replica on it, deploy, then start them again/,
      );
      await open.close();

      const { failures } = await replay({ recording, url: database.url });
      expect(failures).toEqual([]);
      await deployMigrations({ databaseUrl: database.url });
      const left = await killOldHolders(database);
      expect(left.length).toBeGreaterThan(0);
      replica = await startReplica({ databaseUrl: database.url, name: 'new' });
      for (const taskId of left)
        await waitUntil({
          what: `the new version ends task ${taskId}`,
          limitMs: 60_000,
          ask: async () => (await swept(database, taskId)) || undefined,
        });
    } finally {
      await replica?.end();
      await database.drop();
    }
  });
});
