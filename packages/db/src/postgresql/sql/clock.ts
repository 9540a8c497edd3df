import type { Statement } from '../statement.js';

const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;

/** The timeline grows with every promotion; asked of the log position, for the control file knows it late. */
const TIMELINE = `CASE WHEN pg_is_in_recovery() THEN 'recovery'
       ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END`;

/**
 * The server's clock, and which server it is: the cluster's own identifier, its timeline, whether it recovers. Not
 * the start time of the process: a restart keeps the clock, and a quiet period after it would only hold up sweeps.
 */
export const readClock: Statement = {
  name: 'readClock',
  writes: false,
  text: `SELECT ${NOW_MS}, concat_ws('/', (SELECT system_identifier FROM pg_control_system()), ${TIMELINE}) AS identity`,
};

/** The same where the role may not read the control file: address and start time stand for the identifier. */
export const readClockUnprivileged: Statement = {
  name: 'readClock',
  writes: false,
  text: `SELECT ${NOW_MS}, concat_ws('/', host(inet_server_addr()), inet_server_port(),
       extract(epoch FROM pg_postmaster_start_time()), pg_is_in_recovery()) AS identity`,
};
