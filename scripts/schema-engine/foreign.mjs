// Our tables are named `tasks`, `push_notification_configs` and `_prisma_migrations`, as the SDK's own store and many
// a Prisma application name theirs. So nothing is put where somebody else already lives.
import { databaseName, schemaName, sqliteFile } from './connections.mjs';
import { EngineError } from './errors.mjs';
import { survey } from './survey.mjs';

/** @param {string[]} names */
function listed(names) {
  const shown = names.slice(0, 6).join(', ');
  return names.length > 6 ? `${shown} and ${names.length - 6} more` : shown;
}

/**
 * What another application left there, in words; undefined if nothing did.
 * @param {import('./survey.mjs').Survey} found
 * @param {string[]} ours names of our migrations
 */
export function describeForeign({ tables, migrations, taskColumns }, ours) {
  const last = [...ours].sort().at(-1) ?? '';
  const known = migrations.filter((name) => ours.includes(name));
  const strangers = migrations.filter((name) => !ours.includes(name));
  // Later names beside ours are a newer version's of ourselves.
  if (strangers.length > 0 && (known.length === 0 || strangers.some((name) => name < last)))
    return `the migrations of another Prisma application (${listed(strangers)})${tables.length > 0 ? ` and the tables ${listed(tables)}` : ''}`;
  if (known.length > 0 || tables.length === 0) return undefined;
  if (taskColumns.includes('status_state')) return `the task store of @a2a-js/sdk (tables ${listed(tables)})`;
  return `tables that a2a-cluster did not make (${listed(tables)})`;
}

/** How to give us a place, with no more of the URL than host and names. */
function advice({ dialect, databaseUrl }) {
  if (dialect === 'sqlite') return `  another file   DATABASE_URL="file:./.data/cluster.db"`;
  const { protocol, host } = new URL(databaseUrl);
  const taken = databaseName(databaseUrl);
  const name = taken === 'a2a_cluster' ? 'a2a_cluster_tasks' : 'a2a_cluster';
  const database = `  a database of its own   DATABASE_URL="${protocol}//...@${host}/${name}"   (made if it is missing)`;
  if (dialect === 'mysql') return database;
  const schema = schemaName(databaseUrl) === 'a2a_cluster' ? 'a2a_cluster_tasks' : 'a2a_cluster';
  return `  a schema of its own     DATABASE_URL="${protocol}//...@${host}/${taken}?schema=${schema}"   (made if it is missing)\n${database}`;
}

function placeOf({ dialect, databaseUrl }) {
  if (dialect === 'sqlite') return `The file ${sqliteFile(databaseUrl)}`;
  const database = `database "${databaseName(databaseUrl)}"`;
  return dialect === 'mysql' ? `The ${database}` : `The schema "${schemaName(databaseUrl)}" of ${database}`;
}

/**
 * Rejects with P3005 and a text for people where somebody else lives. Reads only.
 * @param {import('./databases.mjs').Target} target
 * @param {string[]} ours names of our migrations
 */
export async function refuseForeign(target, ours) {
  const found = describeForeign(await survey(target), ours);
  if (!found) return;
  throw new EngineError(
    'P3005',
    `${placeOf(target)} belongs to something else, and nothing in it was changed.\nFound: ${found}.\n\nGive a2a-cluster a place of its own and deploy again:\n${advice(target)}`,
  );
}
