import type { World } from '../../world/world.js';

/** The connections of the replicas, oldest first, and how to end one; not for SQLite. */
const SERVERS = {
  postgresql: {
    list: `SELECT pid AS id FROM pg_stat_activity WHERE datname = current_database()
           AND application_name LIKE 'a2a-cluster%' ORDER BY backend_start, pid`,
    end: (id: number) => `SELECT pg_terminate_backend(${id})`,
  },
  mysql: {
    list: `SELECT id FROM information_schema.processlist
           WHERE db = DATABASE() AND id <> CONNECTION_ID() ORDER BY id`,
    end: (id: number) => `KILL CONNECTION ${id}`,
  },
};

/** Ends one connection of the replicas, whichever it is; false when there was none. */
export async function endOneConnection(world: World): Promise<boolean> {
  const { provider, database, random } = world;
  if (provider === 'sqlite') return false;
  const { list, end } = SERVERS[provider];
  const rows = await database.query(list);
  if (rows.length === 0) return false;
  const id = Number(random.pick(rows)['id']);
  // It may have ended by itself since.
  await database.query(end(id)).catch(() => {});
  return true;
}
