import { SQL_MODE } from './session-settings.js';

/** What a connection's session and its server say of themselves. Names as the server has them. */
export interface ServerFacts {
  readonly isMariaDb: boolean;
  readonly serverVersion: string;
  /** Session variables; one that the server does not know is absent. */
  readonly variables: Readonly<Record<string, string>>;
  /** Seconds between the session's clock and UTC. */
  readonly offsetSeconds: number;
  /** How far SYSDATE ran ahead of NOW across a SLEEP of {@link SLEEP_MS}, in microseconds. */
  readonly sysdateAheadUs: number;
}

/** The sleep between two readings of the clock. */
export const SLEEP_MS = 20;

/** The variables that are looked at. */
export const WATCHED_VARIABLES = [
  'autocommit',
  'binlog_format',
  'character_set_client',
  'innodb_doublewrite',
  'innodb_flush_log_at_trx_commit',
  'innodb_read_only',
  'log_bin',
  'max_allowed_packet',
  'read_only',
  'sql_mode',
  'sync_binlog',
  'time_zone',
  'transaction_isolation',
  'tx_isolation',
  'wsrep_on',
] as const;

/** What escaping may add to an event: every byte may need a backslash; and room for the rest of the statement. */
const ESCAPED_FACTOR = 2;
const REST_BYTES = 65_536;

/** What rules the server out, each as a sentence with the way out; empty when it will do. */
export function unsuitabilities(
  facts: ServerFacts,
  limits: { readonly maxEventBytes: number },
): readonly string[] {
  const { variables } = facts;
  const isolation = variables['transaction_isolation'] ?? variables['tx_isolation'];
  const needed = ESCAPED_FACTOR * limits.maxEventBytes + REST_BYTES;
  const packet = Number(variables['max_allowed_packet']);
  const rules: readonly (readonly [boolean, string])[] = [
    [
      isolation === 'READ-COMMITTED',
      `the session's isolation level is ${isolation}, not READ COMMITTED: a proxy in between must pass session settings on`,
    ],
    [
      variables['time_zone'] === '+00:00' && Math.abs(facts.offsetSeconds) <= 1,
      `the session's time zone is ${variables['time_zone']}, ${facts.offsetSeconds} s from UTC: a proxy in between must pass session settings on`,
    ],
    [
      facts.sysdateAheadUs >= (SLEEP_MS * 1_000) / 2,
      'SYSDATE() does not advance within a statement: start the server without --sysdate-is-now',
    ],
    [
      hasModes(variables['sql_mode'] ?? ''),
      `the session's sql_mode is ${variables['sql_mode']}, which must have strict tables and no NO_BACKSLASH_ESCAPES`,
    ],
    [variables['autocommit'] === 'ON', 'autocommit is off in a session that had turned it on'],
    [
      variables['character_set_client'] === 'utf8mb4',
      `the session's character set is ${variables['character_set_client']}, not utf8mb4`,
    ],
    [
      packet >= needed,
      `max_allowed_packet is ${packet} bytes; events of ${limits.maxEventBytes} bytes need ${needed}, escaped: raise it on the server or lower the event limit`,
    ],
    [
      variables['read_only'] !== 'ON' && variables['innodb_read_only'] !== 'ON',
      'the server is read-only: connect to the primary',
    ],
    [
      variables['log_bin'] !== 'ON' || variables['binlog_format'] !== 'STATEMENT',
      'binlog_format is STATEMENT, with which InnoDB refuses writes at READ COMMITTED: set it to MIXED or ROW',
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, sentence]) => sentence);
}

function hasModes(found: string): boolean {
  const modes = new Set(found.split(','));
  return SQL_MODE.split(',').every((mode) => modes.has(mode)) && !modes.has('NO_BACKSLASH_ESCAPES');
}

/** What works, but with a risk the operator should know. */
export function warningsOf({ variables }: ServerFacts): readonly string[] {
  const warnings: string[] = [];
  const flush = variables['innodb_flush_log_at_trx_commit'];
  if (flush !== '1')
    warnings.push(
      `innodb_flush_log_at_trx_commit is ${flush}, not 1: acknowledged events may be lost when ${flush === '2' ? "the server's machine stops" : 'the server or its machine stops'}; SET GLOBAL innodb_flush_log_at_trx_commit = 1`,
    );
  if (variables['log_bin'] === 'ON' && variables['sync_binlog'] !== '1')
    warnings.push(
      `sync_binlog is ${variables['sync_binlog']}, not 1: when the machine stops the binary log may lack events that were acknowledged, and what replicates from it does too; SET GLOBAL sync_binlog = 1`,
    );
  if (variables['innodb_doublewrite'] === 'OFF')
    warnings.push(
      'innodb_doublewrite is OFF: a power loss may corrupt tables unless the storage writes whole pages at once; start the server with innodb_doublewrite=ON',
    );
  if (variables['wsrep_on'] === 'ON')
    warnings.push(
      'the server is a Galera node: send every replica to the same node, row locks do not span nodes',
    );
  return warnings;
}
