const TEXT = {
  error: ['STORE_FAULT', 'was refused by a failpoint'],
  late: ['UNKNOWN_OUTCOME', 'was not answered and is still on its way, by a failpoint'],
  lose: ['UNKNOWN_OUTCOME', 'was not answered, by a failpoint'],
};

/** A fault of the seam, as the product knows it by name and code. */
export function fault(statement, action) {
  const [code, text] = TEXT[action];
  return Object.assign(new Error(`${statement} ${text}`), { name: 'ClusterError', code, details: {} });
}

const POSTGRESQL = { deadlock: '40P01', conflict: '40001', timeout: '55P03' };
const MYSQL = {
  deadlock: [1213, 'ER_LOCK_DEADLOCK', '40001'],
  conflict: [1020, 'ER_CHECKREAD', 'HY000'],
  timeout: [1205, 'ER_LOCK_WAIT_TIMEOUT', 'HY000'],
};

/** What the driver throws when the server rolled a transaction back for a passing reason. */
export function driverError(provider, action) {
  const error = new Error(`${action}, by a failpoint`);
  if (provider === 'postgresql') return Object.assign(error, { code: POSTGRESQL[action], severity: 'ERROR' });
  if (provider === 'sqlite') return Object.assign(error, { code: 'SQLITE_BUSY' });
  const [errno, code, sqlState] = MYSQL[action];
  return Object.assign(error, { errno, code, sqlState, fatal: false });
}
