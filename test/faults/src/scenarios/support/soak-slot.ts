import type { TcpProxy } from '../../tools/tcp-proxy.js';
import { pause } from '../../world/now.js';
import type { World } from '../../world/world.js';
import { openProxy } from './proxies.js';
import { startArmed, type Armed } from './victims.js';

/** A place in the cluster: one replica after the other, each by the same way to the database. */
export class Slot {
  private armed: Armed | null = null;

  private constructor(
    private readonly world: World,
    /** None before SQLite, which is a file. */
    readonly proxy: TcpProxy | null,
    /** Whether the replica may be ended: one stays for the whole time, so that its growth is seen. */
    readonly mayEnd: boolean,
  ) {}

  static async open(world: World, { mayEnd }: { readonly mayEnd: boolean }): Promise<Slot> {
    const slot = new Slot(world, world.provider === 'sqlite' ? null : await openProxy(world), mayEnd);
    await slot.boot();
    return slot;
  }

  /** The replica that may be spoken to; null while none is up. */
  get current(): Armed | null {
    return this.armed?.replica.alive ? this.armed : null;
  }

  /** Starts the next replica. */
  async boot(): Promise<void> {
    const { proxy, world } = this;
    const databaseUrl = proxy?.through(world.database.url);
    this.armed = await startArmed(world, '', databaseUrl === undefined ? {} : { databaseUrl });
  }

  /** Takes the replica away, after a while or at once. */
  async down(work: (armed: Armed) => Promise<unknown> | unknown): Promise<void> {
    const { armed } = this;
    this.armed = null;
    if (armed === null) return;
    await work(armed);
    await armed.replica.exited;
  }
}

/** Resolves with a replica that is up, whichever it is. */
export async function anyOf(world: World, slots: readonly Slot[]): Promise<Armed> {
  for (;;) {
    const up = slots.flatMap(({ current }) => current ?? []);
    if (up.length > 0) return world.random.pick(up);
    await pause(50);
  }
}
