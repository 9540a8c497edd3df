import type { Client } from 'pg';

/** How many rows there are before the upgrade. */
export interface Sizes {
  readonly tasks: number;
  /** Push configs: far fewer tasks have a webhook than have none. */
  readonly configs: number;
  /** Turns that run: what traffic writes to. */
  readonly turns: number;
}

/** The sizes that go with so many tasks. */
export function sizesOf(tasks: number): Sizes {
  return { tasks, configs: Math.ceil(tasks / 20), turns: 200 };
}

/** Tasks of a thousand owners in every state, as the tables of the first migrations have them; the last few run. */
export async function fill(client: Client, { tasks, configs, turns }: Sizes): Promise<void> {
  await client.query(
    `INSERT INTO tasks (id, tenant, owner, context_id, state, status_timestamp, version)
     SELECT 'task-' || n, '', 'owner-' || n % 1000, 'context-' || n / 5,
            (ARRAY['TASK_STATE_COMPLETED','TASK_STATE_FAILED','TASK_STATE_CANCELED','TASK_STATE_INPUT_REQUIRED'])[1 + n % 4],
            to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), 1
       FROM generate_series(1, $1::int) AS n`,
    [tasks],
  );
  await client.query(
    `INSERT INTO push_notification_configs (task_id, config_id, tenant, owner, url, payload, wire_version)
     SELECT 'task-' || n, 'config', '', 'owner-' || n % 1000, 'https://hooks.example/' || n, '{}', '1.0'
       FROM generate_series(1, $1::int) AS n`,
    [configs],
  );
  await client.query(
    `UPDATE tasks SET state = 'TASK_STATE_WORKING' WHERE id IN (SELECT 'task-' || n FROM generate_series(1, $1::int) AS n)`,
    [turns],
  );
  await client.query(
    `INSERT INTO task_leases (task_id, tenant, owner, holder, epoch, acquired_at, expires_at)
     SELECT 'task-' || n, '', 'owner-' || n % 1000, 'old', 1, clock_timestamp(), clock_timestamp() + interval '1 hour'
       FROM generate_series(1, $1::int) AS n`,
    [turns],
  );
  await client.query('VACUUM ANALYZE');
}
