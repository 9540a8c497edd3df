import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { own } from './owned.js';
import type { ConnectionKind } from './postgres-startup.js';
import { Door, type DoorKeeper, type Verdict, type Way } from './tcp-door.js';

/** Which connections a fault is for: `listen` are those PostgreSQL's hints come by, see `postgres-startup.ts`. */
export type Only = 'all' | 'listen' | 'not_listen';

/** A server on this machine. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

/** What went through a proxy so far. */
export interface TcpCounts {
  /** Connections that are open, and of those the ones hints come by. */
  readonly connections: number;
  readonly listening: number;
  /** Connections ever accepted. */
  readonly accepted: number;
  readonly bytesToServer: number;
  readonly bytesToClient: number;
  readonly swallowedBytes: number;
  /** Connections ended by a fault: cut, refused or reset. */
  readonly cuts: number;
  /** Answers of the server that were thrown away by `loseAnswers`. */
  readonly lostAnswers: number;
}

/** A door between a replica and its database, or between a client and a replica. Faults add up until `heal()`. */
export interface TcpProxy {
  readonly port: number;
  /** `url` with the proxy's address in place of the server's. */
  through(url: string): string;
  /** Where new connections go from now on. */
  setTarget(target: TcpTarget): void;
  /** Ends connections with FIN; new ones are served. */
  cut(only?: Only): void;
  /** Ends connections with RST; new ones are served. */
  reset(only?: Only): void;
  /** Cuts every connection and takes no new ones. */
  shut(only?: Only): void;
  open(): void;
  /** Swallows bytes, ends included, without a word: half-open connections. New ones are accepted, and swallowed. */
  blackhole(way: 'both' | Way, only?: Only): void;
  /** Latency of each way. Order is kept. */
  delay(ms: number, only?: Only): void;
  /** Each chunk resets its connection with this probability. */
  resetShare(share: number, random: () => number, only?: Only): void;
  /**
   * Throws an answer of the server away with this probability, and resets its connection: the statement was
   * executed, and its client does not know. `after`: only answers to statements with this text. Answers of the
   * log-in of PostgreSQL are spared.
   */
  loseAnswers(
    share: number,
    random: () => number,
    options?: { readonly only?: Only; readonly after?: string },
  ): void;
  /** Ends every fault. What was swallowed stays lost: a connection that lost something hangs on, dead. */
  heal(): void;
  counts(): TcpCounts;
  /** Cuts everything and closes the door for good. A second call does nothing. */
  stop(): Promise<void>;
  /** Another name of {@link TcpProxy.stop}. */
  close(): Promise<void>;
}

interface Faults {
  shut?: Only;
  hole?: { readonly way: 'both' | Way; readonly only: Only };
  delay?: { readonly ms: number; readonly only: Only };
  resets?: { readonly share: number; readonly random: () => number; readonly only: Only };
  lose?: {
    readonly share: number;
    readonly random: () => number;
    readonly only: Only;
    readonly after: string;
  };
}

/** Until a connection has said what it is for, a fault for some of them leaves it alone. */
function chosen(kind: ConnectionKind, only: Only | undefined): boolean {
  if (only === undefined || only === 'all') return only === 'all';
  return kind === (only === 'listen' ? 'listen' : 'other');
}

/** The first byte of PostgreSQL's answers to a log-in. */
const AUTHENTICATION = 'R'.charCodeAt(0);

class Proxy implements DoorKeeper {
  readonly doors = new Set<Door>();
  readonly counts = { accepted: 0, toServer: 0, toClient: 0, swallowed: 0, cuts: 0, lost: 0 };
  faults: Faults = {};
  target: TcpTarget;

  constructor(target: TcpTarget) {
    this.target = target;
  }

  accept(client: Socket): void {
    this.counts.accepted += 1;
    const { hole } = this.faults;
    const unheard = hole !== undefined && chosen('unknown', hole.only) && hole.way !== 'toClient';
    const server = unheard
      ? null
      : connect({ ...this.target, allowHalfOpen: true, noDelay: true, keepAlive: false });
    const door = new Door(client, server, this);
    this.doors.add(door);
    door.onClosed(() => this.doors.delete(door));
    if (chosen(door.kind, this.faults.shut)) this.end(door, 'cut');
  }

  judge(door: Door, way: Way, chunk: Buffer | null): Verdict {
    const verdict = door.dead ? 'swallow' : this.#verdict(door, way, chunk);
    const bytes = chunk?.length ?? 0;
    if (verdict === 'swallow') this.counts.swallowed += bytes;
    else if (verdict === 'reset') this.counts.cuts += 1;
    else this.counts[way] += bytes;
    return verdict;
  }

  #verdict(door: Door, way: Way, chunk: Buffer | null): Verdict {
    const { hole, resets, lose } = this.faults;
    if (hole && chosen(door.kind, hole.only) && (hole.way === 'both' || hole.way === way)) return 'swallow';
    if (chunk === null) return 'pass';
    if (resets && chosen(door.kind, resets.only) && resets.random() < resets.share) return 'reset';
    if (!lose || way === 'toServer' || !chosen(door.kind, lose.only)) return 'pass';
    if (chunk[0] === AUTHENTICATION || !door.asked.toLowerCase().includes(lose.after)) return 'pass';
    if (lose.random() >= lose.share) return 'pass';
    this.counts.lost += 1;
    return 'reset';
  }

  delayMs(door: Door): number {
    const { delay } = this.faults;
    return delay && chosen(door.kind, delay.only) ? delay.ms : 0;
  }

  known(door: Door): void {
    if (chosen(door.kind, this.faults.shut)) this.end(door, 'cut');
  }

  end(door: Door, how: 'cut' | 'reset'): void {
    this.counts.cuts += 1;
    door[how]();
  }

  endThose(only: Only, how: 'cut' | 'reset'): void {
    for (const door of this.doors) if (chosen(door.kind, only)) this.end(door, how);
  }
}

/** Starts a proxy to a server on this machine, without any fault. */
export async function startTcpProxy(target: TcpTarget): Promise<TcpProxy> {
  const proxy = new Proxy(target);
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => proxy.accept(client));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const disown = own({ endNow: () => void stop() });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= new Promise((resolve) => server.close(() => resolve()));
    // Dead ones would wait for each other: nobody is told by FIN any more.
    for (const door of proxy.doors) door.reset();
    disown();
    return stopping;
  };
  return { port, ...controls(proxy, port), stop, close: stop };
}

function controls(proxy: Proxy, port: number): Omit<TcpProxy, 'port' | 'stop' | 'close'> {
  return {
    through(url) {
      const moved = new URL(url);
      moved.hostname = '127.0.0.1';
      moved.port = String(port);
      return moved.toString();
    },
    setTarget: (target) => void (proxy.target = target),
    cut: (only = 'all') => proxy.endThose(only, 'cut'),
    reset: (only = 'all') => proxy.endThose(only, 'reset'),
    shut(only = 'all') {
      proxy.faults.shut = only;
      proxy.endThose(only, 'cut');
    },
    open: () => void delete proxy.faults.shut,
    blackhole: (way, only = 'all') => void (proxy.faults.hole = { way, only }),
    delay: (ms, only = 'all') => void (proxy.faults.delay = { ms, only }),
    resetShare: (share, random, only = 'all') => void (proxy.faults.resets = { share, random, only }),
    loseAnswers(share, random, { only = 'all', after = '' } = {}) {
      proxy.faults.lose = { share, random, only, after: after.toLowerCase() };
    },
    heal: () => void (proxy.faults = {}),
    counts() {
      const { accepted, toServer, toClient, swallowed, cuts, lost } = proxy.counts;
      return {
        connections: proxy.doors.size,
        listening: [...proxy.doors].filter((door) => door.kind === 'listen').length,
        accepted,
        bytesToServer: toServer,
        bytesToClient: toClient,
        swallowedBytes: swallowed,
        cuts,
        lostAnswers: lost,
      };
    },
  };
}
