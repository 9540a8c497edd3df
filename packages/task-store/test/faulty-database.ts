import { ClusterError } from '@a2a-cluster/core';
import type { Database } from '@a2a-cluster/db';

/** How one call of a statement goes wrong. */
export type Fault =
  /** Not sent, and the answer says so. */
  | 'refused'
  /** Carried out, and the answer is lost. */
  | 'answer_lost'
  /** Not carried out, and nobody can tell. */
  | 'request_lost'
  /** Nobody can tell; it waits somewhere and is carried out just before the next call of the statement. */
  | 'overtaken'
  /** Carried out when {@link FaultyDatabase.thaw} is called, answered then. */
  | 'frozen';

/** Decides for every call; undefined: it goes well. */
export type FaultPlan = (statement: string) => Fault | undefined;

/** A database whose journal and log misbehave as planned. */
export interface FaultyDatabase {
  readonly database: Database;
  /** The next calls of a statement, one fault each; then it goes well again. */
  next(statement: string, ...faults: (Fault | 'well')[]): void;
  /** Every call from now on, beside what {@link next} says; undefined: none. */
  always(plan: FaultPlan | undefined): void;
  /** Calls of a statement so far. */
  calls(statement: string): number;
  thaw(): void;
}

/** Wraps `journal` and `log`; the rest is as it was. */
export function createFaultyDatabase(inner: Database): FaultyDatabase {
  const queued = new Map<string, (Fault | 'well')[]>();
  const counts = new Map<string, number>();
  let frozen: (() => void)[] = [];
  let plan: FaultPlan | undefined;

  const waiting = new Map<string, () => Promise<unknown>>();

  const run = async (name: string, call: () => Promise<unknown>): Promise<unknown> => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    await waiting.get(name)?.();
    waiting.delete(name);
    const fault = queued.get(name)?.shift() ?? plan?.(name);
    if (fault === undefined || fault === 'well') return call();
    if (fault === 'refused') throw new ClusterError('STORE_FAULT', `${name} was refused`);
    if (fault === 'frozen') await new Promise<void>((resolve) => frozen.push(resolve));
    if (fault === 'frozen') return call();
    if (fault === 'answer_lost') await call();
    if (fault === 'overtaken') waiting.set(name, call);
    throw new ClusterError('UNKNOWN_OUTCOME', `${name} was not answered`);
  };
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) =>
          run(String(name), () => Reflect.apply(member, target, args) as Promise<unknown>);
      },
    });
  return {
    database: {
      provider: inner.provider,
      journal: wrap(inner.journal),
      log: wrap(inner.log),
      leases: inner.leases,
      tasks: inner.tasks,
      pushConfigs: inner.pushConfigs,
      pushQueue: inner.pushQueue,
      replicas: inner.replicas,
      operators: inner.operators,
      retention: inner.retention,
      hints: inner.hints,
      check: (check) => inner.check(check),
      ping: () => inner.ping(),
      close: () => inner.close(),
    },
    next: (statement, ...faults) => void queued.set(statement, [...(queued.get(statement) ?? []), ...faults]),
    always: (next) => void (plan = next),
    calls: (statement) => counts.get(statement) ?? 0,
    thaw() {
      for (const go of frozen) go();
      frozen = [];
    },
  };
}
