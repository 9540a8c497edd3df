import { ClusterError } from '@a2a-cluster/core';
import type { Facts } from './sql/facts.js';

/** The oldest server whose statements these are: AS MATERIALIZED came with 12. */
const OLDEST_VERSION = 120_000;

const UTC = new Set(['UTC', 'ETC/UTC']);

/**
 * Whether a server and the settings of its connections will do (protocol 2 and 3). Pure.
 * @returns warnings.
 * @throws `ClusterError` `DATABASE_UNSUITABLE` that names the value found and the way out.
 */
export function judgeFacts(facts: Facts): string[] {
  const complaint = complaintAbout(facts);
  if (complaint !== null) throw new ClusterError('DATABASE_UNSUITABLE', complaint, { details: { ...facts } });
  return warningsAbout(facts);
}

function complaintAbout(facts: Facts): string | null {
  if (facts.version_num < OLDEST_VERSION)
    return `PostgreSQL ${facts.version} is too old: 12 or later is needed`;
  if (facts.encoding !== 'UTF8') return `the database's encoding is ${facts.encoding}: it must be UTF8`;
  if (facts.in_recovery) return 'the server is a standby: DATABASE_URL must name the primary';
  if (facts.read_only) return 'the server or the role is read-only (default_transaction_read_only)';
  if (facts.isolation !== 'read committed')
    return `${session('isolation level', facts.isolation)}: ALTER ROLE .. SET default_transaction_isolation = 'read committed'`;
  if (!UTC.has(facts.time_zone.toUpperCase()))
    return `${session('time zone', facts.time_zone)}: ALTER ROLE .. SET timezone = 'UTC'`;
  return null;
}

function session(what: string, found: string): string {
  return `the ${what} of a session is ${found} although we ask for another (a pooler that drops settings?)`;
}

function warningsAbout(facts: Facts): string[] {
  const warnings: string[] = [];
  const unlimited = (['lock_timeout', 'statement_timeout', 'idle_timeout'] as const).filter(
    (name) => facts[name] === '0',
  );
  if (unlimited.length > 0)
    warnings.push(
      `no limit on the server for ${unlimited.join(', ')}: set them on the role (ALTER ROLE .. SET)`,
    );
  if (facts.invalid_indexes !== null)
    warnings.push(
      `indexes are invalid: ${facts.invalid_indexes}. Unless they are being built now, they cost writes and serve nothing: DROP INDEX CONCURRENTLY, and build them again (prisma/README.md)`,
    );
  return [...warnings, ...durabilityWarnings(facts)];
}

/** What an acknowledged event may get lost by, each with the way out. */
function durabilityWarnings(facts: Facts): string[] {
  const { synchronous_commit: commit, synchronous_standbys: waitedFor, standbys } = facts;
  const waits = waitedFor !== '' && commit !== 'off' && commit !== 'local';
  const rules: readonly (readonly [boolean, string])[] = [
    [
      commit === 'off',
      `synchronous_commit is off: a crash of the server loses the last acknowledged events; ALTER ROLE .. SET synchronous_commit = 'on'`,
    ],
    [
      facts.fsync === 'off',
      'fsync is off: a crash of the server may lose or corrupt everything; turn it on in postgresql.conf',
    ],
    [
      facts.full_page_writes === 'off' && facts.fsync !== 'off',
      'full_page_writes is off: a power loss may corrupt tables unless the storage writes whole pages at once; turn it on in postgresql.conf',
    ],
    [
      waitedFor !== '' && commit === 'local',
      `synchronous_commit is local: a failover to a standby may lose the last acknowledged events although synchronous_standby_names is set; ALTER ROLE .. SET synchronous_commit = 'on'`,
    ],
    [
      standbys > 0 && !waits && waitedFor === '',
      `${standbys} other server(s) follow this one and none is waited for: a failover to one may lose the last acknowledged events; set synchronous_standby_names where that must not be`,
    ],
  ];
  return rules.filter(([holds]) => holds).map(([, sentence]) => sentence);
}
