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
  if (facts.synchronous_commit === 'off')
    warnings.push('synchronous_commit is off: a crash of the server loses the last acknowledged events');
  if (facts.fsync === 'off')
    warnings.push('fsync is off: a crash of the server may lose or corrupt everything');
  return warnings;
}
