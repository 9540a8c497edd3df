import { randomInt } from 'node:crypto';

/**
 * Addresses of this machine that nobody else uses, so that the files of `deploy` run with the very ports they name:
 * on Linux all of 127.0.0.0/8 is the loopback interface.
 */
export interface OwnNetwork {
  /** The address that stands for `replica-<number>`. */
  replica(number: number): string;
  /** The address the balancer listens on. */
  readonly balancer: string;
  /** A configuration with these addresses in place of names, and listening on {@link balancer} only. */
  rewrite(configuration: string): string;
}

/** Makes one up. */
export function ownNetwork(): OwnNetwork {
  const net = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
  const replica = (number: number): string => `${net}.${number}`;
  const balancer = `${net}.100`;
  return {
    replica,
    balancer,
    rewrite: (configuration) =>
      configuration
        .replace(/\breplica-(\d):/g, (_, number: string) => `${replica(Number(number))}:`)
        .replace(/(\blisten |\bbind )(?::)?(\d+)/g, `$1${balancer}:$2`)
        .replace(/^:(\d+) \{$/gm, `http://${balancer}:$1 {`),
  };
}
