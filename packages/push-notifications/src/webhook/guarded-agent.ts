import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Agent, buildConnector, Pool, type Dispatcher } from 'undici';
import type { AddressRefusal, ResolveHost, WebhookAddressPolicy } from './address-policy.js';
import { plainHost, portOf } from './webhook-url.js';

/** The policy refused an address at the moment of the connection. */
export class RefusedAddressError extends Error {
  constructor(readonly refusal: AddressRefusal) {
    super(refusal);
    this.name = 'RefusedAddressError';
  }
}

/** The name has no address, or its resolver does not answer. */
export class UnresolvedHostError extends Error {
  constructor(options?: ErrorOptions) {
    super('the host cannot be resolved', options);
    this.name = 'UnresolvedHostError';
  }
}

/** What {@link createGuardedAgent} needs. */
export interface GuardedAgentOptions {
  readonly policy: Pick<WebhookAddressPolicy, 'checkAddress'>;
  readonly resolve: ResolveHost;
  /** Of the name's look-up, the connection and TLS together. */
  readonly connectTimeoutMs: number;
  /** Open connections per origin, at most. */
  readonly connectionsPerOrigin: number;
  /** Certificates (PEM) that are trusted beside those of Node. */
  readonly ca: readonly string[];
}

/** How long an idle connection is kept where the server says nothing, and at most, whatever it says. */
const IDLE_MS = 10_000;
const MAX_IDLE_MS = 30_000;

const MAX_HEADER_BYTES = 16 * 1_024;

/**
 * An undici agent that asks the policy for every address it connects to, and connects to the address it asked for: a
 * name with one refused address among several is refused whole, with a {@link RefusedAddressError}. It knows no proxy,
 * follows no redirect, speaks HTTP/1.1, and verifies certificates whatever the environment says.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  return new Agent({
    connections: options.connectionsPerOrigin,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: MAX_IDLE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    allowH2: false,
    // A pool per origin, each with its own guard: a look-up alone does not know for which port it is made.
    factory: (origin, poolOptions): Dispatcher =>
      new Pool(String(origin), {
        ...(poolOptions as Pool.Options),
        connect: guardedConnector(new URL(origin), options),
      }),
  });
}

function guardedConnector(origin: URL, options: GuardedAgentOptions): buildConnector.connector {
  const { policy, connectTimeoutMs, ca } = options;
  const host = plainHost(origin.hostname);
  const port = portOf(origin);
  const refusalOf = (address: string): AddressRefusal | null => policy.checkAddress({ host, port, address });
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    lookup: guardedLookup(options.resolve, refusalOf),
    ...(ca.length > 0 ? { ca: [...rootCertificates, ...ca] } : {}),
  });
  return (target, callback) => {
    // A socket looks no address up: for those the look-up below is never asked.
    const refusal = isIP(host) === 0 ? null : refusalOf(host);
    if (refusal === null) connect(target, callback);
    else process.nextTick(() => callback(new RefusedAddressError(refusal), null as never));
  };
}

function guardedLookup(
  resolve: ResolveHost,
  refusalOf: (address: string) => AddressRefusal | null,
): LookupFunction {
  const find = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses = await resolved(resolve, hostname);
    const [refusal] = addresses.flatMap((address) => refusalOf(address) ?? []);
    if (refusal !== undefined) throw new RefusedAddressError(refusal);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, { all }, callback) => {
    // Called back outside of the promise: what the socket throws is not the resolver's.
    find(hostname).then(
      (found) => {
        const [{ address, family } = { address: '', family: 0 }] = found;
        process.nextTick(() => (all ? callback(null, found) : callback(null, address, family)));
      },
      (error: Error) => process.nextTick(() => callback(error, [])),
    );
  };
}

async function resolved(resolve: ResolveHost, hostname: string): Promise<readonly string[]> {
  try {
    const addresses = await resolve(hostname);
    if (addresses.length > 0) return addresses;
  } catch (cause) {
    throw new UnresolvedHostError({ cause });
  }
  throw new UnresolvedHostError();
}
