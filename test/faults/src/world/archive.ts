import type { TestProvider } from '@a2a-cluster/testing';

const COLUMNS = [
  'task_id',
  'seq',
  'kind',
  'payload',
  'write_id',
  'message_id',
  'holder',
  'epoch',
  'created_at',
];

/** The columns of an event that a history holds. */
export const EVENT_COLUMNS = COLUMNS.join(', ');

/** What the archive adds to a query of the log. */
export const archivedEvents = `UNION ALL SELECT ${EVENT_COLUMNS}, pruned_at FROM pruned_events`;

const OLD = COLUMNS.map((column) => `OLD.${column}`).join(', ');
const INSERT = (now: string): string =>
  `INSERT INTO pruned_events (${EVENT_COLUMNS}, pruned_at) VALUES (${OLD}, ${now})`;
const TABLE = (now: string): string =>
  `CREATE TABLE pruned_events AS SELECT ${EVENT_COLUMNS}, ${now} AS pruned_at FROM task_events WHERE 1 = 0`;

/**
 * A table beside the log and a trigger that moves into it what is deleted, with when: the product knows nothing of it, and
 * the checker judges a pruned log as a whole one.
 */
export function archiveSql(provider: TestProvider): string {
  switch (provider) {
    case 'postgresql':
      return `${TABLE('clock_timestamp()')};
        CREATE FUNCTION keep_pruned() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN ${INSERT('clock_timestamp()')}; RETURN OLD; END $$;
        CREATE TRIGGER keep_pruned BEFORE DELETE ON task_events FOR EACH ROW EXECUTE FUNCTION keep_pruned()`;
    case 'mysql':
      return `${TABLE('SYSDATE(3)')};
        CREATE TRIGGER keep_pruned BEFORE DELETE ON task_events FOR EACH ROW ${INSERT('SYSDATE(3)')}`;
    case 'sqlite': {
      const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;
      return `${TABLE(now)};
        CREATE TRIGGER keep_pruned BEFORE DELETE ON task_events BEGIN ${INSERT(now)}; END`;
    }
  }
}
