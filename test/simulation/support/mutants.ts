import type { EventRow } from '@a2a-cluster/core';
import type { Database, JournalStatements, LeaseStatements } from '@a2a-cluster/db';
import type { Simulation } from './simulate.js';

/** A defect between the replicas and the rows, or in a setting, that the simulation has to find. */
export interface Mutant extends Pick<Simulation, 'mutate' | 'kinds' | 'faultRate' | 'pollIntervalMs'> {
  /** What is wrong with it. */
  readonly name: string;
  /** The violation that tells of it. */
  readonly found: RegExp;
}

/** Every mutant that can be made without changing the sources. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a commit under whatever lease there is, at whatever version',
    found: /I3 a write of epoch .* landed under another lease/,
    kinds: ['pause', 'statements'],
    faultRate: 0.2,
    mutate: overJournal((journal) => ({
      commit: async (commit) => {
        const outcome = await journal.commit(commit);
        const look = outcome.ok ? null : await journal.look({ taskId: commit.taskId });
        if (!look?.lease) return outcome;
        const { holder, epoch } = look.lease;
        return journal.commit({ ...commit, holder, epoch, expectedVersion: look.version });
      },
    })),
  },
  {
    name: 'a commit without the expected version',
    found: /I4 .* was stored twice/,
    kinds: ['statements'],
    faultRate: 0.3,
    mutate: overJournal((journal) => ({
      commit: async (commit) => {
        const outcome = await journal.commit(commit);
        const look = outcome.ok ? null : await journal.look({ taskId: commit.taskId });
        return look ? journal.commit({ ...commit, expectedVersion: look.version }) : outcome;
      },
    })),
  },
  {
    name: 'a commit that does not look at the expiry',
    kinds: ['pause', 'outage'],
    found: /I3 a write landed after its lease had expired/,
    mutate: (base) => ({
      ...base,
      journal: {
        ...base.journal,
        commit: async (commit) => {
          const { taskId, epoch, holder } = commit;
          const lease = { taskId, epoch };
          await base.leases.beatOne({ lease, holder, ttlMs: 15_000, waitMs: 1 });
          return base.journal.commit(commit);
        },
      },
    }),
  },
  {
    name: 'an end that does not end the task',
    found: /I1 /,
    mutate: overJournal((journal) => ({
      commit: (commit) =>
        journal.commit(commit.terminal ? { ...commit, terminal: false, state: null } : commit),
    })),
  },
  {
    name: 'a commit that is answered before it is stored',
    found: /I4 .* events acknowledged, 0 stored/,
    mutate: overJournal((journal) => ({
      commit: async (commit) => {
        setImmediate(() => void journal.commit(commit));
        return { ok: true, version: commit.expectedVersion + commit.events.length };
      },
    })),
  },
  {
    name: 'no look for an own write after an uncertain answer',
    found: /I12 the outcome was given up/,
    kinds: ['statements'],
    faultRate: 0.3,
    mutate: overJournal(() => ({ findOwnWrite: async () => false })),
  },
  {
    name: 'every uncertain write is taken for stored',
    found: /I[0-9]+/,
    mutate: overJournal(() => ({ findOwnWrite: async () => true })),
  },
  {
    name: 'a follow-up that takes a live lease',
    found: /I6 a follow-up took a live lease/,
    mutate: (base) => ({
      ...base,
      journal: {
        ...base.journal,
        openTurn: async (open) => {
          const outcome = await base.journal.openTurn(open);
          if (outcome.ok || outcome.refusal !== 'parked_busy') return outcome;
          await base.leases.expireNow(open.taskId);
          return base.journal.openTurn(open);
        },
      },
    }),
  },
  {
    name: 'a follow-up that does not count as pending',
    kinds: ['kill'],
    found: /I10 a message was taken and never answered/,
    mutate: overJournal((journal) => ({
      openTurn: async (open) => {
        const outcome = await journal.openTurn(open);
        if (!outcome.ok) return outcome;
        const { taskId, holder } = open;
        await journal.commit({
          ...{ taskId, holder, epoch: outcome.epoch, expectedVersion: outcome.epoch, events: [] },
          ...{ state: null, statusTimestamp: null, terminal: false, clearsPending: true, snapshot: null },
        });
        return outcome;
      },
    })),
  },
  {
    name: 'a sweep that does not look at the expiry',
    found: /I6 swept [0-9]+ ms before the lease expired/,
    mutate: (base) => ({
      ...base,
      journal: {
        ...base.journal,
        sweep: async (batch) => {
          // The last to expire: the first may have expired, and then taking it is no fault.
          const last = (await base.leases.listLeases(100)).at(-1);
          if (last) await base.leases.expireNow(last.taskId);
          return base.journal.sweep(batch);
        },
      },
    }),
  },
  {
    name: 'a sweep that takes nothing',
    found: /I6|I12 it never came to rest/,
    mutate: overJournal(() => ({ sweep: async () => ({ swept: [], candidates: 0 }) })),
  },
  {
    name: 'a release of whatever lease there is',
    kinds: ['statements'],
    faultRate: 0.3,
    found: /I10 the task is .* and nobody works on it|I10 a message was taken and never answered/,
    mutate: overLeases((leases) => ({
      release: async (lease) => {
        const [row] = await leases.readLeases([lease.taskId]);
        return row ? leases.release(row) : 'gone';
      },
    })),
  },
  {
    name: 'a beat that renews nothing and says it does',
    found: /I[0-9]+/,
    mutate: overLeases(() => ({
      beat: async ({ leases }) => leases.map((lease) => ({ ...lease, cancelAgeMs: null })),
    })),
  },
  {
    name: 'a cancel mark that is not kept',
    found: /I9 a cancel was not heard in time/,
    mutate: overLeases(() => ({ markCancel: async () => ({ cancelAgeMs: 0 }) })),
  },
  {
    name: 'a page of the log in the wrong order',
    found: /I5 after seq/,
    mutate: (base) => ({
      ...base,
      log: { ...base.log, readEventsOf: async (pages) => swapped(await base.log.readEventsOf(pages)) },
    }),
  },
  {
    name: 'a tail that lives by hints alone',
    found: /I5|I12/,
    kinds: ['hints'],
    pollIntervalMs: 1_000_000_000,
  },
];

function overJournal(
  change: (journal: JournalStatements) => Partial<JournalStatements>,
): (base: Database) => Database {
  return (base) => ({ ...base, journal: { ...base.journal, ...change(base.journal) } });
}

function overLeases(
  change: (leases: LeaseStatements) => Partial<LeaseStatements>,
): (base: Database) => Database {
  return (base) => ({ ...base, leases: { ...base.leases, ...change(base.leases) } });
}

/** Rows of one task whose first two have changed places. */
function swapped(rows: readonly EventRow[]): readonly EventRow[] {
  const [first, second, ...rest] = rows;
  if (first === undefined || second === undefined || first.taskId !== second.taskId) return rows;
  return [{ ...second, seq: first.seq }, { ...first, seq: second.seq }, ...rest];
}
