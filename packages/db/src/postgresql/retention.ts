import type { PurgedTask, RetentionStatements } from '../statements/retention-statements.js';
import type { Retrying } from './retry.js';
import * as sql from './sql/retention.js';

/** Retention on PostgreSQL (protocol 11): each call is one statement. */
export function createPostgresRetention(database: Retrying): RetentionStatements {
  return {
    async find({ after, limit, endedForMs, due }) {
      const rows = await database.run<sql.FindRow>(sql.find, [after, limit, endedForMs, due === 'task']);
      return {
        tasks: rows.flatMap(({ id, version, snapshot_version }) =>
          version === null ? [] : [{ taskId: id, version, snapshotVersion: snapshot_version ?? 0 }],
        ),
        next: rows.find((row) => row.version === null)?.id ?? null,
      };
    },
    async compact({ tasks, endedForMs, maxEvents }) {
      if (tasks.length === 0) return { events: 0, taskIds: [] };
      const [row] = await database.run<sql.CompactRow>(sql.compact, [
        tasks.map(({ taskId }) => taskId),
        tasks.map(({ version }) => version),
        tasks.map(({ snapshot }) => snapshot),
        endedForMs,
        maxEvents,
      ]);
      return { events: row?.events ?? 0, taskIds: row?.ids ?? [] };
    },
    async purge({ taskIds, endedForMs, maxEvents }) {
      if (taskIds.length === 0) return { purged: [], events: 0 };
      const rows = await database.run<sql.PurgeRow>(sql.purge, [[...taskIds], endedForMs, maxEvents]);
      return {
        events: rows.find((row) => row.id === null)?.events ?? 0,
        purged: rows.flatMap((row): PurgedTask[] =>
          row.id === null
            ? []
            : [{ taskId: row.id, scope: { tenant: row.tenant, owner: row.owner }, state: row.state }],
        ),
      };
    },
  };
}
