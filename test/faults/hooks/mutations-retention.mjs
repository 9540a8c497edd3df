/** Mutations of retention. See mutations.mjs. */
export const retentionMutations = [
  {
    name: 'silent-reset',
    description: 'A stream whose next events were pruned ends without a word.',
    scenarios: ['R30'],
    why: 'Clients that were behind take what they have for all there was (I5).',
    rewrites: [
      {
        module: 'request-handler/dist/reset-to-task.js',
        find: 'yield await resetToTask(parts, reset);',
        replace: 'return;',
      },
    ],
  },
  {
    name: 'prune-unsent',
    description: 'Retention does not look whether a webhook waits for the events.',
    scenarios: ['R30'],
    why: 'What a webhook refused at first is gone before its next attempt (I8).',
    rewrites: ['postgresql/sql/retention.js', 'mysql/retention.js', 'sqlite/retention.js'].map((file) => ({
      module: `db/dist/${file}`,
      find: "c.status = 'active' AND c.position < t.version",
      replace: "c.status = 'active' AND c.position < 0",
    })),
  },
  {
    name: 'prune-early',
    description: 'Retention takes events at once, however short ago the task ended.',
    scenarios: ['R30'],
    why: 'The log of a task is gone before the time that it is kept for (I2).',
    rewrites: [
      {
        module: 'db/dist/postgresql/sql/retention.js',
        find: 't.updated_at < statement_timestamp() - ${age}::float8',
        replace: 't.updated_at < statement_timestamp() - 0 * ${age}::float8',
      },
      {
        module: 'db/dist/mysql/retention.js',
        find: 't.updated_at < NOW(6) - INTERVAL ? MICROSECOND',
        replace: 't.updated_at < NOW(6) - INTERVAL 0 * ? MICROSECOND',
      },
      {
        module: 'db/dist/sqlite/retention.js',
        find: 't.updated_at < ${NOW} - CAST(? AS INTEGER)',
        replace: 't.updated_at < ${NOW} - 0 * CAST(? AS INTEGER)',
      },
    ],
  },
];
