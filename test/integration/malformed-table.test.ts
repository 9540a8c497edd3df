import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { availableProviders } from '@a2a-cluster/testing';
import { A2AClient } from './support/a2a-client.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { sendRaw } from './support/raw-request.js';
import { table } from './malformed/index.js';
import { verdict } from './malformed/verdict.js';

describe.each(availableProviders())('what is malformed, on %s', (provider) => {
  let door: FrontDoor;
  let before: string | undefined;

  beforeAll(async () => {
    // The SDK tells the console of every error it answers.
    for (const method of ['error', 'warn'] as const) jest.spyOn(console, method).mockImplementation(() => {});
    door = await openFrontDoor({ provider });
    // Rows in every table but that of leases, so that "unchanged" is not only "empty".
    const client = new A2AClient(door.base);
    const taskId = (await client.send({ text: 'done' })).result?.task?.id;
    await client.call('CreateTaskPushNotificationConfig', { taskId, url: 'http://127.0.0.1:9/' });
    before = await door.rows?.counts();
  });
  afterAll(async () => {
    await door.close();
    jest.restoreAllMocks();
  });

  describe.each(table)('among %s', (_kind, rows) => {
    const named = rows.map((row) => [row.form, row.name, row] as const);
    test.each(named)('gets its error and stores nothing, over %s: %s', async (_form, _name, row) => {
      expect(verdict(row, await sendRaw(door.base, row.request))).toBeNull();
      const was = before;
      // One row that stores something is one failure, not one of every row after it.
      before = await door.rows?.counts();
      expect(before).toBe(was);
    });
  });

  test('leaves the server well: the next sound request is answered', async () => {
    const { result } = await new A2AClient(door.base).send({ text: 'done' });
    expect(result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
  });
});

test('the table has hundreds of rows, each of another name', () => {
  const names = table.flatMap(([kind, rows]) => rows.map(({ form, name }) => `${kind} ${form} ${name}`));
  expect(names.length).toBeGreaterThan(400);
  expect(new Set(names).size).toBe(names.length);
});
