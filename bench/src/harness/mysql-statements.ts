import mariadb, { type Connection } from 'mariadb';

/** What went over the connections since the last time it was asked. */
export interface MysqlCounts {
  /** Texts sent: one answer is waited for each. */
  readonly roundTrips: number;
  /** Statements by the server's own count (`Com_..`): `select`, `update`, `begin`, `commit`, `rollback` .. */
  readonly statements: ReadonlyMap<string, number>;
}

/** Counts what this process sends to MySQL or MariaDB. */
export interface MysqlCount {
  /** Begins anew. */
  take(): Promise<MysqlCounts>;
  /** Ends the counting. */
  stop(): void;
}

const COUNTED = ['select', 'update', 'insert', 'delete', 'begin', 'commit', 'rollback'] as const;

const STATUS = `SHOW SESSION STATUS WHERE Variable_name IN (${COUNTED.map((name) => `'Com_${name}'`).join(', ')})`;

/**
 * Watches the connections that are opened from now on. The server is asked on each of them, session by session: its
 * global counters would count every other client too.
 */
export function countMysql(): MysqlCount {
  const driver = mariadb as { createConnection: typeof mariadb.createConnection };
  const original = driver.createConnection;
  const plain = new Map<Connection, Connection['query']>();
  const before = new Map<string, number>();
  let roundTrips = 0;
  driver.createConnection = async (config) => {
    const connection = await original(config);
    const query = connection.query.bind(connection) as Connection['query'];
    plain.set(connection, query);
    connection.query = ((...args: Parameters<Connection['query']>) => {
      roundTrips += 1;
      return query(...args);
    }) as Connection['query'];
    return connection;
  };
  return {
    take: async () => {
      const totals = await totalsOf([...plain].filter(([connection]) => connection.isValid()));
      const statements = new Map([...totals].map(([name, count]) => [name, count - (before.get(name) ?? 0)]));
      for (const [name, count] of totals) before.set(name, count);
      const counts = { roundTrips, statements };
      roundTrips = 0;
      return counts;
    },
    stop: () => {
      driver.createConnection = original;
    },
  };
}

async function totalsOf(
  sessions: readonly (readonly [Connection, Connection['query']])[],
): Promise<ReadonlyMap<string, number>> {
  const totals = new Map<string, number>();
  for (const [, query] of sessions) {
    const rows = await query<{ Variable_name: string; Value: string }[]>(STATUS);
    for (const { Variable_name, Value } of rows) {
      const name = Variable_name.replace('Com_', '');
      totals.set(name, (totals.get(name) ?? 0) + Number(Value));
    }
  }
  return totals;
}
