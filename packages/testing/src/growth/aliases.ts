const TABLES = 'tasks|task_events|task_snapshots|task_leases|push_notification_configs|push_dead_letters';
const NAMED = new RegExp(`\\b(${TABLES})["\`]?(?:\\s+(?:AS\\s+)?["\`]?(\\w+))?`, 'gi');

/** The table behind each name a statement gives it: plans speak of aliases. */
export function tableOfAlias(sql: string): (alias: string) => string | undefined {
  const tables = new Map<string, string>();
  for (const [, table = '', alias] of sql.matchAll(NAMED)) {
    tables.set(table, table);
    if (alias !== undefined) tables.set(alias, table);
  }
  return (alias) => tables.get(alias);
}
