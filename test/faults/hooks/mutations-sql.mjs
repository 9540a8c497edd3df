const PG = 'db/dist/postgresql/sql';
const MYSQL = 'db/dist/mysql';
const SQLITE = 'db/dist/sqlite';

const cut = (module, find, replace = '') => ({ module, find, replace });

/** Mutations of the statements: the same rule on each database. See mutations.mjs. */
export const sqlMutations = [
  {
    name: 'expected-version',
    description: 'Nobody compares the version: seq is the row’s version + 1, under the lock.',
    scenarios: ['R8', 'R11'],
    why:
      'A write that is still on its way when its retry is sent (`journal.commit@before=late`) lands beside it: an event ' +
      'twice (I4). ' +
      'A cancel that meets an openTurn in flight leaves a live lease on a CANCELED task (I10).',
    rewrites: [
      cut(
        `${PG}/commit.js`,
        'SELECT id FROM tasks\n   WHERE id = $1 AND version = $2::int AND state',
        'SELECT id, version AS v FROM tasks\n   WHERE id = $1 AND $2::int IS NOT NULL AND state',
      ),
      cut(
        `${PG}/commit.js`,
        'SELECT x.task_id, x.expires_at FROM t',
        'SELECT x.task_id, x.expires_at, t.v FROM t',
      ),
      cut(
        `${PG}/commit.js`,
        'SELECT task_id, $2::int + cardinality($5::text[]) AS version FROM l',
        'SELECT task_id, v, v + cardinality($5::text[]) AS version FROM l',
      ),
      cut(`${PG}/commit.js`, 'SELECT ok.task_id, $2::int + n.i,', 'SELECT ok.task_id, ok.v + n.i,'),
      cut(
        `${PG}/cancel.js`,
        'SELECT id FROM tasks\n   WHERE id = $1 AND tenant = $2 AND owner = $3 AND version = $4::int AND',
        'SELECT id, version AS v FROM tasks\n   WHERE id = $1 AND tenant = $2 AND owner = $3 AND $4::int IS NOT NULL AND',
      ),
      cut(`${PG}/cancel.js`, 'SET version = $4::int + 1,', 'SET version = t.v + 1,'),
      cut(`${PG}/cancel.js`, 'SELECT id, $4::int + 1, $8', 'SELECT id, v + 1, $8'),
      cut(
        `${MYSQL}/journal.js`,
        'const { taskId, expectedVersion, holder, epoch, events } = commit;',
        'const { taskId, holder, epoch, events } = commit;',
      ),
      cut(
        `${MYSQL}/journal.js`,
        'const lease = leases[0];',
        "const lease = leases[0]; const expectedVersion = task ? numberAt(task, 'version') : 0;",
      ),
      cut(
        `${MYSQL}/journal.js`,
        'const { taskId, scope, expectedVersion, event, statusTimestamp, holder, epoch } = cancel;',
        'const { taskId, scope, event, statusTimestamp, holder, epoch } = cancel;',
      ),
      cut(
        `${MYSQL}/journal.js`,
        "const theirs = task?.['tenant'] === scope.tenant && task['owner'] === scope.owner;",
        "const theirs = task?.['tenant'] === scope.tenant && task['owner'] === scope.owner; " +
          "const expectedVersion = task ? numberAt(task, 'version') : 0;",
      ),
      cut(
        `${SQLITE}/journal.js`,
        'const { taskId, expectedVersion, holder, epoch, events } = commit;',
        'const { taskId, holder, epoch, events } = commit; ' +
          'const expectedVersion = lookAt(session, { taskId })?.version ?? 0;',
      ),
      cut(
        `${SQLITE}/journal.js`,
        'const { taskId, expectedVersion, statusTimestamp, holder, epoch, event } = cancel;',
        'const { taskId, statusTimestamp, holder, epoch, event } = cancel; ' +
          'const expectedVersion = lookAt(session, { taskId })?.version ?? 0;',
      ),
      cut(`${SQLITE}/journal.js`, 'return task?.version === at.expectedVersion && !is', 'return task && !is'),
    ],
  },
  {
    name: 'fence',
    description: 'A commit asks nobody who holds the lease; one that is not there will do.',
    scenarios: ['R2b'],
    why:
      'Compare-and-swap and terminal-is-final hide it, but for a turn that parked, lost its lease (dropped, the task ' +
      'untouched) and speaks again: its late event lands, the task is WORKING with no lease (I3, I10). Agent: `relapse`.',
    rewrites: [
      cut(
        `${PG}/commit.js`,
        'SELECT x.task_id, x.expires_at FROM t JOIN task_leases x ON x.task_id = t.id\n' +
          '   WHERE x.holder = $3 AND x.epoch = $4::int\n   FOR KEY SHARE OF x),',
        "SELECT t.id AS task_id, coalesce((SELECT y.expires_at FROM task_leases y WHERE y.task_id = t.id), 'infinity')" +
          ' AS expires_at FROM t\n   WHERE $3::text IS NOT NULL AND $4::int IS NOT NULL),\n',
      ),
      cut(
        `${MYSQL}/journal.js`,
        "const ours = lease?.['holder'] === holder && lease['epoch'] === epoch && lease['live'] === 1;",
        "const ours = !lease || lease['live'] === 1;",
      ),
      cut(
        `${SQLITE}/journal.js`,
        'if (task?.lease?.holder !== holder || task.lease.epoch !== epoch)',
        'if (!task)',
      ),
      cut(
        `${SQLITE}/journal.js`,
        'if (task.lease.remainingMs <= 0)',
        'if ((task.lease?.remainingMs ?? 1) <= 0)',
      ),
    ],
  },
  {
    name: 'expiry-after-lock',
    description:
      'The expiry is judged by the moment the write was asked for, not after its locks are held. PostgreSQL: the ' +
      'start of the statement; MySQL: the start of the first locking read; SQLite: before the wait for the file.',
    scenarios: ['R2b'],
    why:
      'A holder is stopped while its write waits on a locked task row for longer than the TTL: the write lands after ' +
      'the expiry (`created_at` more than a TTL after the last beat).',
    rewrites: [
      cut(
        `${PG}/commit.js`,
        'WHERE expires_at > clock_timestamp()),',
        'WHERE expires_at > statement_timestamp()),',
      ),
      cut(
        `${MYSQL}/journal.js`,
        'SELECT tenant, owner, version, state FROM tasks WHERE id = ? FOR UPDATE',
        'SELECT tenant, owner, version, state, @asked_at := NOW(6) AS asked_at FROM tasks WHERE id = ? FOR UPDATE',
      ),
      cut(
        `${MYSQL}/journal.js`,
        'SELECT holder, epoch, expires_at > SYSDATE(6) AS live',
        'SELECT holder, epoch, expires_at > CAST(@asked_at AS DATETIME(6)) AS live',
      ),
      cut(
        `${SQLITE}/journal.js`,
        "commit: (commit) => write('commit', (session) => commitEvents(session, commit)),",
        'commit: (commit) => { const askedMs = Date.now(); ' +
          "return write('commit', (session) => commitEvents(session, { ...commit, askedMs })); },",
      ),
      cut(
        `${SQLITE}/journal.js`,
        'if (task.lease.remainingMs <= 0)',
        'if (task.lease.remainingMs + Date.now() - commit.askedMs <= 0)',
      ),
    ],
  },
  {
    name: 'terminal-is-final',
    description:
      'Commit, cancel, sweep and openTurn do not ask whether the task has ended; nor does a canceller.',
    scenarios: ['R11', 'R29'],
    why: 'A cancel after the end writes CANCELED behind COMPLETED, a follow-up opens an ended task again (I1, I10).',
    rewrites: [
      cut(
        `${PG}/commit.js`,
        'AND version = $2::int AND state NOT IN (${TERMINAL_LIST})',
        'AND version = $2::int',
      ),
      cut(
        `${PG}/cancel.js`,
        'AND version = $4::int AND state NOT IN (${TERMINAL_LIST})',
        'AND version = $4::int',
      ),
      cut(`${PG}/sweep.js`, 'CASE WHEN c.state NOT IN (${TERMINAL_LIST}) AND (', 'CASE WHEN ('),
      cut(`${PG}/open-turn.js`, '\n     AND state NOT IN (${TERMINAL_LIST})\n', '\n'),
      cut(
        `${MYSQL}/journal.js`,
        "numberAt(task, 'version') !== expectedVersion || isTerminalName(textAt(task, 'state')))",
        "numberAt(task, 'version') !== expectedVersion)",
      ),
      cut(
        `${MYSQL}/journal.js`,
        "numberAt(task, 'version') !== expectedVersion ||\n        isTerminalName(textAt(task, 'state')))",
        "numberAt(task, 'version') !== expectedVersion)",
      ),
      cut(`${MYSQL}/open-turn.js`, 'if (isTerminalName(state))', 'if (isTerminalName(state) && false)'),
      cut(`${SQLITE}/journal.js`, '&& !isTerminalName(task.state) ? task : null', '? task : null'),
      cut(
        'db/dist/statements/open-refusal.js',
        'if (isTerminalName(state))',
        'if (isTerminalName(state) && false)',
      ),
      cut(
        'core/dist/abandoned.js',
        'if (turn.state === null || isTerminalName(turn.state))',
        'if (turn.state === null)',
      ),
      cut(
        'request-handler/dist/cancel-task.js',
        'if (isTerminalName(look.state))',
        'if (look.state === CANCELED)',
      ),
    ],
  },
  {
    name: 'pending',
    description: 'A follow-up does not mark its turn as unheard.',
    scenarios: ['R1'],
    why:
      'A replica that dies between an accepted follow-up and its first status (`journal.openTurn@after=kill`) leaves ' +
      'the task INPUT_REQUIRED, as if it were parked: the message is in the log and nothing answers it.',
    rewrites: [
      cut(
        `${PG}/open-turn.js`,
        'SELECT id, tenant, owner, $5, version + 1, true, clock_timestamp(),',
        'SELECT id, tenant, owner, $5, version + 1, false, clock_timestamp(),',
      ),
      cut(
        `${PG}/open-turn.js`,
        'epoch = excluded.epoch, pending = true, acquired_at',
        'epoch = excluded.epoch, pending = false, acquired_at',
      ),
      cut(
        `${MYSQL}/open-turn.js`,
        'grantLease({ taskId, scope, holder, epoch, pending: true, ttlMs })',
        'grantLease({ taskId, scope, holder, epoch, pending: false, ttlMs })',
      ),
      cut(
        `${SQLITE}/journal.js`,
        'grantLease(session, { taskId, scope, holder, ttlMs, epoch, pending: true });',
        'grantLease(session, { taskId, scope, holder, ttlMs, epoch, pending: false });',
      ),
    ],
  },
  {
    name: 'skip-locked-in-beat',
    description: 'A beat waits for locked rows. SQLite locks no rows: nothing changes there.',
    scenarios: ['R4'],
    why: 'One lease row locked by a foreign transaction holds up the renewals of all: live turns are swept (I6).',
    databases: ['postgresql', 'mysql'],
    rewrites: [
      cut(`${PG}/leases.js`, 'FOR NO KEY UPDATE OF x SKIP LOCKED)', 'FOR NO KEY UPDATE OF x)'),
      cut(`${MYSQL}/beat.js`, 'ORDER BY l.task_id FOR UPDATE SKIP LOCKED`', 'ORDER BY l.task_id FOR UPDATE`'),
    ],
  },
  {
    name: 'sweep-no-recheck',
    description:
      'A sweep takes every lease it has locked, without judging the expiry again. SQLite reads under its lock: nothing changes.',
    scenarios: ['R14'],
    why: 'A lease renewed between the search and the lock is swept though its holder lives (I6).',
    databases: ['postgresql', 'mysql'],
    rewrites: [
      cut(
        `${PG}/sweep.js`,
        '   WHERE x.expires_at < statement_timestamp()\n   FOR UPDATE OF x',
        '   FOR UPDATE OF x',
      ),
      cut(
        `${MYSQL}/sweep.js`,
        'WHERE task_id IN (?) AND expires_at < NOW(6) ORDER BY task_id FOR UPDATE SKIP LOCKED`',
        'WHERE task_id IN (?) ORDER BY task_id FOR UPDATE SKIP LOCKED`',
      ),
    ],
  },
];
