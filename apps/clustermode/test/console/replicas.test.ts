import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { openPage, post, startConsole, type ConsoleReplica } from './replica.js';

/** A load balancer sends each request to another replica; every one of them says and does the same. */
describe.each(availableProviders())('two replicas on %s', (provider) => {
  let database: TestDatabase;
  let near: ConsoleReplica;
  let far: ConsoleReplica;

  beforeAll(async () => {
    database = await createTestDatabase({ provider });
    const start = (replicaId: string): Promise<ConsoleReplica> =>
      startConsole({
        cluster: { databaseUrl: database.url, replicaId },
        hub: { lookMs: 20, countsFreshMs: 50 },
      });
    near = await start('near');
    far = await start('far');
  });
  afterAll(async () => {
    await Promise.all([near.close(), far.close()]);
    await database.drop();
  });

  test('each shows both, drains the other, and cancels what runs there', async () => {
    const { id } = await far.send('tick 1 1; sleep 600000');
    const page = await openPage(`${near.url}/console/api/live?task=${id}`);
    const { data } = await page.until(({ data: overview }) => overview.replicas?.length === 2);
    const other = data.replicas.find(({ replicaId }: { replicaId: string }) => replicaId.startsWith('far-'));
    expect((await near.call(`/api/tasks?holder=${other.replicaId}`)).json.tasks).toMatchObject([
      { taskId: id },
    ]);

    expect((await near.call(`/api/replicas/${other.replicaId}/drain`, post())).json.outcome).toBe('draining');
    await page.until(({ data: overview }) =>
      overview.replicas?.some(
        ({ replicaId, phase }: { replicaId: string; phase: string }) =>
          replicaId === other.replicaId && phase === 'paused',
      ),
    );
    await expect(far.send('done ok')).rejects.toThrow();
    expect(far.cluster.status()).toMatchObject({ ready: false, runningTurns: 1 });
    expect((await near.call(`/api/tasks/${id}/cancel`, post())).json.outcome).toBe('canceled');
    await page.until(({ data: change }) => change.state === 'TASK_STATE_CANCELED');
    page.leave();
    expect((await near.call(`/api/replicas/${other.replicaId}/resume`, post())).json.outcome).toBe('resumed');
  });
});
