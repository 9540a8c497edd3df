/** How the rewritten modules reach the failpoints: without an import, so that any module can. */
export const GLOBAL_NAME = 'a2a-cluster.faults';

const FAULTS = `globalThis[Symbol.for('${GLOBAL_NAME}')]`;

/** `add` stands before or after `find`, on the same line. */
const at = (place, { module, find, add }) => ({
  name: `failpoint ${place}`,
  module: `packages/${module}`,
  find,
  replace: add.replace('$', () => find),
});

/** Where the built workspace is changed so that failpoints are passed. `$` is what was there. */
export const failpointRewrites = [
  at('statements', {
    module: 'db/dist/create-database.js',
    find: 'export async function createDatabase(options) {',
    add:
      `export const createDatabase = async (options) => ${FAULTS}.wrapDatabase(await openDatabase(options)); ` +
      'async function openDatabase(options) {',
  }),
  at('mysql.beforeCommit', {
    module: 'db/dist/mysql/transaction.js',
    find: 'await sendCommit(session, texts.at(-1) ?? COMMIT);',
    add: `await ${FAULTS}.beforeCommit(); $`,
  }),
  at('driver.deadlock', {
    module: 'db/dist/mysql/transaction.js',
    find: 'const answer = await session.query(sql, values);',
    add: `${FAULTS}.driver('mysql'); $`,
  }),
  at('driver.deadlock', {
    module: 'db/dist/postgresql/connections.js',
    find: 'const { rows } = await prepared.query(client, statement, values);',
    add: `if (statement.writes) ${FAULTS}.driver('postgresql'); $`,
  }),
  at('driver.deadlock', {
    module: 'db/dist/sqlite/connection.js',
    find: "database.exec('COMMIT');",
    add: `if (call.writes) ${FAULTS}.driver('sqlite'); $`,
  }),
  at('push', {
    module: 'push-notifications/dist/delivery/runner.js',
    find: 'const outcome = await this.post(claim, row, request);',
    add: `const outcome = await ${FAULTS}.push(row.taskId, () => this.post(claim, row, request));`,
  }),
  at('hints.notify', {
    module: 'db/dist/postgresql/hints.js',
    find: 'const payloads = encodeHints(taskIds);',
    add: `const payloads = ${FAULTS}.payloads(encodeHints(taskIds));`,
  }),
];
