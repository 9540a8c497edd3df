import net from 'node:net';
import { createTestDatabase, openRaw, type RawConnection, type TestDatabase } from '@a2a-cluster/testing';
import type { DatabaseOptions } from '../../src/database-options.js';
import type { Database } from '../../src/database.js';
import { createMysqlDatabase } from '../../src/mysql/database.js';

/** A MariaDB database of the test's own, replicas on it, and hands behind their backs. */
export class MysqlBench {
  readonly raw: RawConnection;
  private readonly opened: { close(): Promise<unknown> }[] = [];
  /** Connections that are hands, not replicas: the server may show a statement for a moment after its answer. */
  private readonly hands = new Set<number>();

  private constructor(
    readonly server: TestDatabase,
    raw: RawConnection,
  ) {
    this.raw = raw;
    this.opened.push(raw);
  }

  static async open(
    options: { readonly migrated?: boolean; readonly upTo?: number } = {},
  ): Promise<MysqlBench> {
    const server = await createTestDatabase({ provider: 'mysql', ...options });
    return new MysqlBench(server, await openRaw(server.url));
  }

  async replica(options: Partial<DatabaseOptions> = {}): Promise<Database> {
    const db = await createMysqlDatabase({ url: this.server.url, ttlMs: 15_000, poolSize: 4, ...options });
    this.opened.push(db);
    return db;
  }

  /** A connection of its own, in a transaction that holds what `sql` locks until `free`. */
  async hold(sql: string): Promise<{ readonly raw: RawConnection; free(): Promise<void> }> {
    const raw = await openRaw(this.server.url);
    this.opened.push(raw);
    const [row] = await raw.query('SELECT CONNECTION_ID() AS id');
    this.hands.add(Number(row?.['id']));
    await raw.run(`START TRANSACTION; ${sql}`);
    return { raw, free: () => raw.run('ROLLBACK') };
  }

  /** The connections of the replicas whose running statement is like `pattern`. */
  async connections(pattern = '%'): Promise<number[]> {
    const rows = await this.raw.query(
      `SELECT p.ID AS id FROM information_schema.PROCESSLIST p
        WHERE p.DB = DATABASE() AND p.ID <> CONNECTION_ID() AND COALESCE(p.INFO, '') LIKE ?`,
      [pattern],
    );
    return rows.map((row) => Number(row['id'])).filter((id) => !this.hands.has(id));
  }

  /** Waits until a statement like `pattern` runs. */
  async untilRunning(pattern: string): Promise<number> {
    for (;;) {
      const [id] = await this.connections(pattern);
      if (id !== undefined) return id;
    }
  }

  async kill(id: number): Promise<void> {
    await this.raw.run(`KILL ${id}`);
  }

  /** A way to the server that can be stopped. */
  async proxy(): Promise<FaultyWay> {
    const way = await FaultyWay.open(this.server.url);
    this.opened.push(way);
    return way;
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map((one) => one.close()));
    await this.server.drop();
  }
}

/** A TCP proxy that can hold back what the server answers, without closing anything. */
export class FaultyWay {
  private muted: (socket: net.Socket) => boolean = () => false;
  private readonly sockets = new Set<net.Socket>();
  private readonly kept: (() => void)[] = [];
  private heard: (() => void) | null = null;
  /** What clients have said so far. */
  readonly said: string[] = [];

  private constructor(
    private readonly server: net.Server,
    readonly url: string,
  ) {}

  static async open(target: string): Promise<FaultyWay> {
    const { hostname, port } = new URL(target);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(target);
    url.port = String((server.address() as net.AddressInfo).port);
    const way = new FaultyWay(server, url.toString());
    server.on('connection', (client) => way.join(client, net.connect(Number(port || 3306), hostname)));
    return way;
  }

  /** From now on no answer comes through. */
  mute(): void {
    this.muted = () => true;
  }

  /** From now on no answer comes through the connections there are; later ones work. */
  muteOpen(): void {
    const open = new Set(this.sockets);
    this.muted = (socket) => open.has(socket);
  }

  /** Lets through what was held back, and all that follows. */
  unmute(): void {
    this.muted = () => false;
    for (const deliver of this.kept.splice(0)) deliver();
  }

  /** Mutes the way and waits until an answer has been held back. */
  async swallow(): Promise<void> {
    const heard = new Promise<void>((resolve) => (this.heard = resolve));
    this.mute();
    await heard;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private join(client: net.Socket, upstream: net.Socket): void {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
    client.on('data', (bytes) => {
      this.said.push(bytes.toString('latin1'));
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!this.muted(upstream)) return void client.write(bytes);
      this.kept.push(() => void client.write(bytes));
      this.heard?.();
    });
  }
}

/** What a promise is rejected with; fails when it is not. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<Error & { code: string; details: Record<string, unknown> }> {
  try {
    await promise;
  } catch (error) {
    return error as Error & { code: string; details: Record<string, unknown> };
  }
  throw new Error('the promise was not rejected');
}
