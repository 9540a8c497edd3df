import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { encodeEvent, failedStatus } from '@a2a-cluster/core';
import type { Database } from '../src/database.js';
import { PostgresBench, workingTask } from './support/postgresql.js';

let bench: PostgresBench;
let db: Database;
beforeAll(async () => {
  bench = await PostgresBench.open();
  db = await bench.replica();
});
afterAll(() => bench.close());

const awkward = [
  'plain',
  'quote " backslash \\ slash / percent %s $1 \' ??',
  'controls \b\f\n\r\t\u0001\u001f\u007f\u0080\u2028\u2029',
  'umlaut ä, combining e\u0301, four bytes 😀, last of all \u{10ffff}, private \ue000\ufffe\uffff',
  '</script><!-- & =',
];

test.each([...awkward.map((text) => [text, text]), ['', 'an empty context'], ['context', '']])(
  'the FAILED event of a sweep has the bytes of the codec: context %j, text %j',
  async (contextId, text) => {
    const taskId = `id ${text.slice(0, 40)} ${contextId.slice(0, 10)}.`;
    await db.journal.createTask(workingTask({ taskId, contextId, ttlMs: 1 }));
    const [row] = await bench.raw.query('SELECT expires_at FROM task_leases WHERE task_id = $1', [taskId]);
    const expiredAt = (row?.['expires_at'] as Date).toISOString();
    const timestamp = '2026-02-03T04:05:06.789Z';
    const batch = { limit: 10, sweeper: 'sweeper', statusTimestamp: timestamp, text, taskId };
    const {
      swept: [swept],
    } = await db.journal.sweep(batch);
    const data = failedStatus({
      ...{ taskId, contextId, reason: 'replica_lost', timestamp, messageId: `sweep:${taskId}:1`, text },
      detail: { expiredAt },
    });
    const payload = encodeEvent({ kind: 'statusUpdate', data });
    expect(swept?.failed).toEqual({ seq: 2, payload });
    const stored = await db.log.readEvents({ taskId, after: 1, limit: 10 });
    expect(stored).toEqual([
      { taskId, seq: 2, kind: 'statusUpdate', payload, messageId: null, holder: 'sweeper', epoch: 1 },
    ]);
  },
);
