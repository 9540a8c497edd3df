import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { availableProviders, createTestDatabase, type TestDatabase } from '@a2a-cluster/testing';
import { openRoad, type Road } from '../road.js';
import { openPage, post, startConsole, type ConsoleReplica } from './replica.js';

const postgresql = availableProviders().includes('postgresql') ? describe : describe.skip;

postgresql('while the database is away', () => {
  let database: TestDatabase;
  let road: Road;
  let replica: ConsoleReplica;

  beforeAll(async () => {
    database = await createTestDatabase({ provider: 'postgresql' });
    road = await openRoad(new URL(database.url));
    replica = await startConsole({
      cluster: { databaseUrl: road.url },
      setting: { provider: 'postgresql' },
      hub: { lookMs: 20 },
    });
  });
  afterAll(async () => {
    await replica.close();
    await road.cut();
    await database.drop();
  });

  test('the overview is what is in memory and says so; what must ask is 503; then all is well again', async () => {
    const page = await openPage(`${replica.url}/console/api/live`);
    const codes = ({ attention }: { attention?: { code: string }[] }): string[] =>
      attention?.map(({ code }) => code) ?? [];
    await page.until(({ data }) => data.replicas?.length === 1 && !codes(data).includes('database_away'));
    await road.cut();
    const { data } = await page.until(({ data: overview }) => codes(overview)[0] === 'database_away');
    expect(data.replicas).toMatchObject([{ health: 'alive' }]);
    expect((await replica.call('/api/overview')).status).toBe(200);
    for (const [path, options] of [
      ['/api/tasks', {}],
      ['/api/tasks/some-task', {}],
      ['/api/replicas/some-replica/drain', post()],
    ] as const) {
      const answer = await replica.call(path, options);
      expect([path, answer.status, answer.json.error.status]).toEqual([path, 503, 'UNAVAILABLE']);
    }
    page.events.length = 0;
    await road.mend();
    await page.until(
      ({ name, data: overview }) => name === 'overview' && !codes(overview).includes('database_away'),
    );
    expect((await replica.call('/api/tasks')).status).toBe(200);
    page.leave();
  });
});
