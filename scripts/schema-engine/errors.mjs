/** A refusal that the Prisma CLI shows with its code, in the form the native engine uses. */
export class EngineError extends Error {
  /**
   * @param {string} code one of Prisma's P codes
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const missingDatabase = ['3D000', 'ER_BAD_DB_ERROR'];
const badCredentials = /^(28P01|28000|ER_ACCESS_DENIED_\w+)$/;
const unreachable = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'ER_GET_CONNECTION_TIMEOUT',
  'ER_SOCKET_TIMEOUT',
];

/**
 * The driver's error in Prisma's words; the CLI acts on P1003 by creating the database. Never carries the password.
 * @param {Error & { code?: string }} error
 * @param {string} databaseUrl
 */
export function connectError(error, databaseUrl) {
  const { host, pathname, username } = new URL(databaseUrl);
  const code = error.code ?? '';
  if (missingDatabase.includes(code))
    return new EngineError('P1003', `Database \`${pathname.slice(1)}\` does not exist`);
  if (badCredentials.test(code))
    return new EngineError(
      'P1000',
      `Authentication failed: the database server does not accept the credentials of \`${username}\`.`,
    );
  if (unreachable.includes(code))
    return new EngineError('P1001', `Can't reach database server at \`${host}\``);
  return error;
}
