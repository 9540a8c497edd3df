import type { Random } from '@a2a-cluster/testing';
import type { Owner } from './scheduler.js';

/** The kinds of faults a run may have. */
export type FaultKind = 'statements' | 'hints' | 'pause' | 'kill' | 'step' | 'outage' | 'partition' | 'close';

/** Every kind. */
export const FAULT_KINDS: readonly FaultKind[] = [
  ...(['statements', 'hints', 'pause', 'kill', 'step', 'outage', 'partition', 'close'] as const),
];

/** What becomes of one statement. */
export type Fate = {
  /** From the replica to the database, and back. */
  readonly thereMs: number;
  readonly backMs: number;
} & (
  | { readonly kind: 'well' | 'refused' | 'request_lost' | 'answer_lost' }
  /** Its sender is told "unknown" after `backMs`, and it is carried out only after `thereMs`. */
  | { readonly kind: 'late' }
);

/** How long a statement may take before its sender's side gives up: what the real databases are opened with. */
export const STATEMENT_LIMIT_MS = 10_000;

/** Faults in a row that one statement of one replica may meet: a database that is there answers in the end. */
const MOST_IN_A_ROW = 3;

/** A time in which the database cannot be reached. */
interface Blackout {
  readonly untilMs: number;
  /** Refused: an error at once. Silent: no answer. */
  readonly kind: 'refused' | 'silent';
}

/** What goes wrong now, drawn from the seed. */
export class Faults {
  /** Off: nothing goes wrong any more, so that a run can settle. */
  on = true;
  private readonly inARow = new Map<string, number>();
  private readonly blackouts = new Map<Owner, Blackout>();

  constructor(
    private readonly random: Random,
    private readonly kinds: ReadonlySet<FaultKind>,
    private readonly rate: number,
  ) {}

  has(kind: FaultKind): boolean {
    return this.on && this.kinds.has(kind);
  }

  /** Whether the run has faults of this kind, now or at another time. */
  kindsHave(kind: FaultKind): boolean {
    return this.kinds.has(kind);
  }

  /** Whether the run has no other kinds of faults than these. */
  only(...kinds: readonly FaultKind[]): boolean {
    return [...this.kinds].every((kind) => kinds.includes(kind));
  }

  fate(owner: Owner, statement: string): Fate {
    const { random } = this;
    const times = { thereMs: this.latency(), backMs: this.latency() };
    const key = `${owner} ${statement}`;
    const before = this.inARow.get(key) ?? 0;
    if (!this.has('statements') || before >= MOST_IN_A_ROW || !random.chance(this.rate)) {
      this.inARow.delete(key);
      return { kind: 'well', ...times };
    }
    this.inARow.set(key, before + 1);
    const kind = random.pick(['refused', 'request_lost', 'answer_lost', 'late', 'slow'] as const);
    // A connection that breaks says so at once; one that has gone silent is given up at the limit.
    const silent = random.chance(0.2);
    const told = { ...times, backMs: silent ? STATEMENT_LIMIT_MS - times.thereMs : times.backMs };
    if (kind === 'slow') return { kind: 'well', thereMs: random.int(0, 4_000), backMs: random.int(0, 4_000) };
    if (kind === 'late') return { kind, thereMs: random.int(10, 20_000), backMs: told.backMs };
    return kind === 'refused' ? { kind, ...times } : { kind, ...told };
  }

  /** How long a hint takes, and how often it comes: not at all, or more than once. */
  hints(): readonly number[] {
    const { random } = this;
    if (!this.has('hints')) return [this.latency()];
    const times = random.pick([0, 0, 1, 1, 1, 2]);
    return Array.from({ length: times }, () => (random.chance(0.3) ? random.int(0, 2_000) : this.latency()));
  }

  latency(): number {
    const { random } = this;
    return this.on && random.chance(0.1) ? random.int(0, 60) : random.int(0, 3);
  }

  /** From now on the database is away, for one replica or (WORLD) for all. */
  blackout(owner: Owner, blackout: Blackout): void {
    this.blackouts.set(owner, blackout);
  }

  /** The time in which this replica cannot reach the database, if it is now. */
  blackoutOf(owner: Owner, nowMs: number): Blackout | null {
    for (const key of [owner, '']) {
      const blackout = this.blackouts.get(key);
      if (blackout !== undefined && blackout.untilMs > nowMs) return blackout;
    }
    return null;
  }
}
