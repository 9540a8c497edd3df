import type { Socket } from 'node:net';
import { createClassifier, type ConnectionKind } from './postgres-startup.js';

/** Which way bytes go. */
export type Way = 'toServer' | 'toClient';

/** What may happen to a chunk on its way. */
export type Verdict = 'pass' | 'swallow' | 'reset';

/** Who decides about the chunks of a connection. */
export interface DoorKeeper {
  /** About one chunk, or null for the end of the stream (FIN). */
  judge(door: Door, way: Way, chunk: Buffer | null): Verdict;
  /** Latency of one way, in milliseconds. */
  delayMs(door: Door): number;
  /** The connection has said what it is for. */
  known(door: Door): void;
}

/** Bytes that may wait for their time before the sender is held back. */
const MAX_WAITING_BYTES = 1 << 20;

/** One connection through the proxy. */
export class Door {
  readonly #client: Socket;
  readonly #server: Socket | null;
  readonly #keeper: DoorKeeper;
  readonly #lanes: Lane[];
  readonly #classify = createClassifier();
  kind: ConnectionKind = 'unknown';
  /** Something of it was swallowed: nothing passes any more, as on a connection that lost bytes for good. */
  dead = false;
  /** What its client has said since the server last spoke. */
  asked = '';

  /** `server` null: the client is accepted and heard by nobody. */
  constructor(client: Socket, server: Socket | null, keeper: DoorKeeper) {
    this.#client = client;
    this.#server = server;
    this.#keeper = keeper;
    this.#lanes = [this.#lane('toServer', client, server), this.#lane('toClient', server, client)];
    for (const socket of this.#sockets()) {
      // What breaks on one side breaks on the other, unless the news is swallowed as well.
      socket.on('error', () => {
        if (!this.dead && keeper.judge(this, socket === client ? 'toServer' : 'toClient', null) === 'pass')
          this.reset();
      });
    }
  }

  /** Ends both sides the polite way (FIN). */
  cut(): void {
    for (const socket of this.#sockets()) {
      if (socket.writableLength > 0 || socket.connecting) socket.destroy();
      else socket.destroySoon();
    }
    this.#stop();
  }

  /** Ends both sides the rude way (RST). */
  reset(): void {
    for (const socket of this.#sockets()) socket.resetAndDestroy();
    this.#stop();
  }

  /** Calls back when both sides are closed. */
  onClosed(closed: () => void): void {
    let open = this.#sockets().length;
    for (const socket of this.#sockets())
      socket.once('close', () => {
        open -= 1;
        if (open === 0) closed();
      });
  }

  #sockets(): Socket[] {
    return this.#server ? [this.#client, this.#server] : [this.#client];
  }

  #stop(): void {
    for (const lane of this.#lanes) lane.stop();
  }

  #lane(way: Way, from: Socket | null, to: Socket | null): Lane {
    const lane = new Lane(from, to);
    const take = (chunk: Buffer | null): void => {
      if (way === 'toServer' && chunk) this.#hear(chunk);
      // An end that was decided on while the connection became known.
      if (from?.destroyed && chunk) return;
      const verdict = this.#keeper.judge(this, way, chunk);
      if (way === 'toClient' && chunk) this.asked = '';
      if (verdict === 'reset') return this.reset();
      if (verdict === 'swallow') return void (this.dead = true);
      lane.add(chunk, this.#keeper.delayMs(this));
    };
    from?.on('data', take);
    from?.once('end', () => take(null));
    return lane;
  }

  #hear(chunk: Buffer): void {
    this.asked = (this.asked + chunk.toString('latin1')).slice(-65_536);
    const kind = this.#classify(chunk);
    if (kind === this.kind) return;
    this.kind = kind;
    this.#keeper.known(this);
  }
}

/** One way of a connection: chunks leave in the order they came, each at its time. */
class Lane {
  readonly #from: Socket | null;
  readonly #to: Socket | null;
  #waiting: { readonly chunk: Buffer | null; readonly dueMs: number }[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket | null, to: Socket | null) {
    this.#from = from;
    this.#to = to;
    to?.on('drain', () => this.#pace());
  }

  add(chunk: Buffer | null, delayMs: number): void {
    if (this.#waiting.length === 0 && delayMs === 0) return this.#send(chunk);
    // Order is kept by the queue: what is due waits for what came before it.
    this.#waiting.push({ chunk, dueMs: performance.now() + delayMs });
    this.#bytes += chunk?.length ?? 0;
    this.#pace();
    this.#wake();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }

  #wake(): void {
    const [first] = this.#waiting;
    clearTimeout(this.#timer);
    if (first) this.#timer = setTimeout(() => this.#deliver(), Math.max(0, first.dueMs - performance.now()));
  }

  #deliver(): void {
    // Timers may fire up to a millisecond early.
    const now = performance.now() + 1;
    for (let first = this.#waiting[0]; first && first.dueMs <= now; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#bytes -= first.chunk?.length ?? 0;
      this.#send(first.chunk);
    }
    this.#pace();
    this.#wake();
  }

  #send(chunk: Buffer | null): void {
    if (!this.#to || this.#to.destroyed || this.#to.writableEnded) return;
    if (chunk === null) return void this.#to.end();
    if (!this.#to.write(chunk)) this.#pace();
  }

  /** A receiver that does not read holds its sender back, as it would without a proxy. */
  #pace(): void {
    if (this.#to?.writableNeedDrain || this.#bytes > MAX_WAITING_BYTES) this.#from?.pause();
    else if (this.#from?.isPaused()) this.#from.resume();
  }
}
