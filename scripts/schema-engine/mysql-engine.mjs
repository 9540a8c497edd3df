// Prisma's wasm engine has no MySQL connector. This is the part behind `migrate deploy`, `status` and `resolve`,
// on the native engine's table, lock and checksums; everything else says that it needs the native engine.
import { connectMysql } from './connections.mjs';
import { EngineError } from './errors.mjs';
import { checksumOf, createLedger, isFailed } from './mysql-ledger.mjs';

const lockName = 'prisma_migrate';
const resolveHint =
  'Read more about how to resolve migration issues in a production database: https://pris.ly/d/migrate-resolve';

function textOf({ path, migrationFile }) {
  if (migrationFile.content.tag === 'ok') return migrationFile.content.value;
  throw new EngineError(
    'P3015',
    `Could not find the migration file at ${path}/migration.sql. Restore it, or delete the directory.`,
  );
}

function checkProvider({ lockfile }) {
  const named = /^\s*provider\s*=\s*"(\w+)"/m.exec(lockfile.content ?? '')?.[1];
  if (named && named !== 'mysql')
    throw new EngineError(
      'P3019',
      `The migrations are for \`${named}\` (migration_lock.toml), the datasource is \`mysql\`.`,
    );
}

function refuseFailed(rows) {
  const failed = rows.filter(isFailed);
  if (failed.length === 0) return;
  const lines = failed.map((row) => {
    const logs = row.logs?.trim() ? ` with the following logs:\n${row.logs.trim()}` : '';
    return `The \`${row.migration_name}\` migration started at ${row.started_at.toISOString()} failed${logs}`;
  });
  const text = `migrate found failed migrations in the target database, new migrations will not be applied. ${resolveHint}`;
  throw new EngineError('P3009', [text, ...lines].join('\n'));
}

/** Git may have changed the line ends since the migration was applied. */
function isSameText(sql, checksum) {
  const forms = [sql, sql.replace(/\r\n/g, '\n'), sql.replace(/\r?\n/g, '\r\n')];
  return forms.some((form) => checksumOf(form) === checksum);
}

function historyOf(missing, unapplied) {
  if (unapplied.length > 0 && missing.length > 0)
    return {
      diagnostic: 'historiesDiverge',
      lastCommonMigrationName: null,
      unpersistedMigrationNames: missing,
      unappliedMigrationNames: unapplied,
    };
  if (unapplied.length > 0) return { diagnostic: 'databaseIsBehind', unappliedMigrationNames: unapplied };
  return missing.length > 0
    ? { diagnostic: 'migrationsDirectoryIsBehind', unpersistedMigrationNames: missing }
    : null;
}

/** @param {string} databaseUrl */
export function createMysqlEngine(databaseUrl) {
  /** @type {Promise<import('mariadb').Connection> | undefined} */
  let opened;
  const connect = () => (opened ??= connectMysql(databaseUrl));
  const ledger = createLedger(connect);

  async function withLock(work) {
    const connection = await connect();
    const [{ got }] = await connection.query('SELECT GET_LOCK(?, 10) AS got', [lockName]);
    if (Number(got) !== 1)
      throw new EngineError(
        'P1002',
        'Timed out: another migration holds the lock, and did not let go within 10 s.',
      );
    return work().finally(() => connection.query('SELECT RELEASE_LOCK(?)', [lockName]));
  }

  async function applyOne(directory) {
    const sql = textOf(directory);
    const id = await ledger.begin(directory.path, sql);
    try {
      const empty = sql.replace(/^\s*--.*$/gm, '').trim() === '';
      if (!empty) await (await connect()).query(sql);
    } catch (error) {
      const logs = `A migration failed to apply. New migrations cannot be applied before the error is recovered from. ${resolveHint}\n\nMigration name: ${directory.path}\n\nDatabase error code: ${error.errno}\n\nDatabase error:\n${error.sqlMessage ?? error.message}\n`;
      await ledger.fail(id, logs);
      throw new EngineError('P3018', logs);
    }
    await ledger.finish(id);
    return directory.path;
  }

  async function applyMissing({ migrationDirectories }) {
    await ledger.create();
    const rows = await ledger.rows();
    refuseFailed(rows);
    const done = new Set(rows.filter((row) => !row.rolled_back_at).map((row) => row.migration_name));
    const applied = [];
    for (const directory of migrationDirectories)
      if (!done.has(directory.path)) applied.push(await applyOne(directory));
    return { appliedMigrationNames: applied };
  }

  return {
    async ensureConnectionValidity() {
      await connect();
      return {};
    },
    version: async () => (await (await connect()).query('SELECT VERSION() AS v'))[0].v,
    async applyMigrations({ migrationsList }) {
      checkProvider(migrationsList);
      return withLock(() => applyMissing(migrationsList));
    },
    async diagnoseMigrationHistory({ migrationsList }) {
      checkProvider(migrationsList);
      const found = await ledger.rows();
      const rows = found ?? [];
      const directories = migrationsList.migrationDirectories;
      const fileOf = (row) => directories.find((directory) => directory.path === row.migration_name);
      const nameOf = (row) => row.migration_name;
      const unapplied = directories
        .map(({ path }) => path)
        .filter((path) => !rows.some((row) => nameOf(row) === path));
      const edited = rows.filter((row) => fileOf(row) && !isSameText(textOf(fileOf(row)), row.checksum));
      return {
        history: historyOf(rows.filter((row) => !fileOf(row)).map(nameOf), unapplied),
        hasMigrationsTable: found !== null,
        failedMigrationNames: rows.filter(isFailed).map(nameOf),
        editedMigrationNames: edited.map(nameOf),
      };
    },
    async markMigrationApplied({ migrationName, migrationsList }) {
      checkProvider(migrationsList);
      await ledger.create();
      const directory = migrationsList.migrationDirectories.find(({ path }) => path === migrationName);
      if (!directory) throw new EngineError('P3017', `The migration ${migrationName} could not be found.`);
      const same = (await ledger.rows()).filter(
        (row) => row.migration_name === migrationName && !row.rolled_back_at,
      );
      if (same.some((row) => row.finished_at))
        throw new EngineError(
          'P3008',
          `The migration \`${migrationName}\` is already recorded as applied in the database.`,
        );
      for (const row of same) await ledger.rollBack(row.id);
      await ledger.record(migrationName, textOf(directory));
      return {};
    },
    async markMigrationRolledBack({ migrationName }) {
      const failed = ((await ledger.rows()) ?? []).filter(
        (row) => row.migration_name === migrationName && isFailed(row),
      );
      if (failed.length === 0)
        throw new EngineError(
          'P3012',
          `Migration \`${migrationName}\` cannot be rolled back because it is not in a failed state.`,
        );
      for (const row of failed) await ledger.rollBack(row.id);
      return {};
    },
    async dbExecute({ script }) {
      await (await connect()).query(script);
      return null;
    },
    async free() {
      await (await opened?.catch(() => undefined))?.end();
    },
  };
}
