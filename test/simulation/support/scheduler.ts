import type { Random } from '@a2a-cluster/testing';

/** Whose step it is: a replica by its name, or {@link WORLD}. */
export type Owner = string;

/** Owner of what goes on whatever becomes of the replicas: the database, the network, the clients. */
export const WORLD: Owner = '';

/** Something that will happen. */
export interface Step {
  readonly owner: Owner;
  /** For the trace; made only where there is one. */
  what(): string;
  run(): void | Promise<void>;
  /** Timers of one owner fire in the order in which they are due, as in Node. */
  readonly timer?: boolean;
}

interface Pending {
  readonly step: Step;
  readonly order: number;
  /** When it was due first: a pause moves `atMs`, not this. */
  readonly dueMs: number;
  atMs: number;
  dropped: boolean;
}

/**
 * Owns everything that is pending and the time: nothing happens but the step it picks, and time moves only between
 * steps. Steps due at the same millisecond come in an order of the seed's choice.
 */
export class Scheduler {
  nowMs = 0;
  steps = 0;
  /** Told of every step, before it runs. */
  onStep: ((step: Step) => void) | null = null;
  /** Told whenever time has moved. */
  onTime: (() => void) | null = null;
  readonly #agenda: Pending[] = [];
  #order = 0;
  readonly #held = new Map<Owner, Pending[]>();
  readonly #dead = new Set<Owner>();

  constructor(private readonly random: Random) {}

  /** Plans a step; gives what takes it back. */
  after(delayMs: number, step: Step): () => void {
    if (this.#dead.has(step.owner)) return () => {};
    const atMs = this.nowMs + Math.max(0, Math.ceil(delayMs));
    const pending: Pending = { step, order: this.#order++, dueMs: atMs, atMs, dropped: false };
    this.#insert(pending);
    return () => void (pending.dropped = true);
  }

  /** From now on nothing of this owner happens; what falls due waits. */
  hold(owner: Owner): void {
    if (!this.#held.has(owner)) this.#held.set(owner, []);
  }

  /** The owner goes on; what waited is due now. */
  resume(owner: Owner): void {
    const waiting = this.#held.get(owner) ?? [];
    this.#held.delete(owner);
    for (const pending of waiting) {
      pending.atMs = this.nowMs;
      this.#insert(pending);
    }
  }

  isHeld(owner: Owner): boolean {
    return this.#held.has(owner);
  }

  /** Nothing of this owner ever happens again. */
  kill(owner: Owner): void {
    this.#dead.add(owner);
    this.#held.delete(owner);
    for (const pending of this.#agenda) if (pending.step.owner === owner) pending.dropped = true;
  }

  /** Timers that are set by this owner. */
  timersOf(owner: Owner): number {
    const waiting = [...this.#agenda, ...(this.#held.get(owner) ?? [])];
    return waiting.filter(({ step, dropped }) => step.timer && step.owner === owner && !dropped).length;
  }

  /** Runs until `over` says so, nothing is left, or it is `untilMs`. */
  async run(untilMs: number, over: () => boolean): Promise<void> {
    while (!over()) {
      const next = this.#take(untilMs);
      if (next === null) return;
      this.steps += 1;
      this.onStep?.(next.step);
      await next.step.run();
      await settled();
    }
  }

  #insert(pending: Pending): void {
    let low = 0;
    let high = this.#agenda.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#agenda[middle] as Pending).atMs <= pending.atMs) low = middle + 1;
      else high = middle;
    }
    this.#agenda.splice(low, 0, pending);
  }

  #take(untilMs: number): Pending | null {
    for (;;) {
      while (this.#agenda[0]?.dropped) this.#agenda.shift();
      const atMs = this.#agenda[0]?.atMs ?? Infinity;
      if (atMs > untilMs) {
        this.#moveTo(untilMs);
        return null;
      }
      this.#setAside(atMs);
      const due = this.#dueAt(atMs);
      const ready = due.filter((pending) => isNext(pending, due));
      if (ready.length === 0) continue;
      this.#moveTo(atMs);
      const taken = ready.length === 1 ? (ready[0] as Pending) : this.random.pick(ready);
      this.#agenda.splice(this.#agenda.indexOf(taken), 1);
      return taken;
    }
  }

  /** Of what is due next: takes away what is dropped, and keeps what is held for later. */
  #setAside(atMs: number): void {
    for (let at = 0; this.#agenda[at]?.atMs === atMs;) {
      const pending = this.#agenda[at] as Pending;
      const waiting = this.#held.get(pending.step.owner);
      if (!pending.dropped && waiting === undefined) at += 1;
      else this.#agenda.splice(at, 1);
      if (!pending.dropped) waiting?.push(pending);
    }
  }

  #dueAt(atMs: number): Pending[] {
    let count = 0;
    while (this.#agenda[count]?.atMs === atMs) count += 1;
    return this.#agenda.slice(0, count);
  }

  #moveTo(ms: number): void {
    if (ms <= this.nowMs) return;
    this.nowMs = ms;
    this.onTime?.();
  }
}

/** Whether no earlier timer of the same owner is due as well. */
function isNext({ step, dueMs, order }: Pending, due: readonly Pending[]): boolean {
  if (!step.timer) return true;
  return !due.some(
    (rival) =>
      rival.step.timer === true &&
      rival.step.owner === step.owner &&
      (rival.dueMs < dueMs || (rival.dueMs === dueMs && rival.order < order)),
  );
}

/** Every promise that can settle has settled, and what follows from it: nothing in a simulation does real I/O. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
