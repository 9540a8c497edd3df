import { pushMutations } from './mutations-push.mjs';
import { retentionMutations } from './mutations-retention.mjs';
import { sqlMutations } from './mutations-sql.mjs';

/**
 * The protocol with one of its rules taken out. Each mutation must turn at least one scenario red, or the scenarios
 * prove nothing about that rule. `databases` are the databases on which it changes anything; `scenarios` are the ids
 * that are expected to turn red, `why` says by what.
 */
const codeMutations = [
  {
    name: 'write-id',
    description: 'A retry does not look for its own earlier write.',
    scenarios: ['R8'],
    why:
      'After a lost answer the retry meets its own events, takes them for a conflict and gives the turn up: FAILED ' +
      'by a sweeper though its holder lives and renews (I6).',
    rewrites: [
      {
        module: 'task-store/dist/journal-commit.js',
        find: 'if (this.uncertain) {',
        replace: 'if (this.uncertain && false) {',
      },
      {
        module: 'task-store/dist/journal-commit.js',
        find: "return (await this.landed()) ? 'landed' : judgement;",
        replace: 'return judgement;',
      },
    ],
  },
  {
    name: 'sent-time',
    description: 'Trust in a lease counts from the answer of a renewal, and a late answer still counts.',
    scenarios: ['R9', 'R4'],
    why:
      'A renewal that is answered later than the margin, and then none (`leases.beat@after=delay:2500#1; ' +
      'leases.beat@before=hang#2*1000;leases.beatOne@before=hang` with a TTL of 15 s; the answer must come within ' +
      'the renewal timeout, TTL / 5): the signal fires after the expiry (I7).',
    rewrites: [
      {
        module: 'lease-store/dist/lease-set.js',
        find: 'entry.renewedFrom(renewal.sentAtMs);',
        replace: 'entry.renewedFrom(this.#options.clock.monotonicMs());',
      },
      {
        module: 'lease-store/dist/lease-set.js',
        find: "        if (this.remainingMs(entry) <= 0) {\n            this.lose(entry, 'deadline');",
        replace:
          "        if (this.remainingMs(entry) <= -Infinity) {\n            this.lose(entry, 'deadline');",
      },
    ],
  },
  {
    name: 'local-deadline',
    description: 'A holder has no deadline of its own: a lease is lost only when a row says so.',
    scenarios: ['R4', 'R7', 'R9'],
    why: 'A holder that cannot reach the database goes on past the expiry, its signal silent (I7).',
    rewrites: [
      {
        module: 'lease-store/dist/lease-set.js',
        find: "        if (entry.open && this.remainingMs(entry) <= 0)\n            this.lose(entry, 'deadline');",
        replace: '            void entry;',
      },
      {
        module: 'lease-store/dist/lease-set.js',
        find: "        if (this.remainingMs(entry) <= 0) {\n            this.lose(entry, 'deadline');",
        replace:
          "        if (this.remainingMs(entry) <= -Infinity) {\n            this.lose(entry, 'deadline');",
      },
    ],
  },
  {
    name: 'quiet-period',
    description: 'The watch over the clock is never quiet.',
    scenarios: ['R3b', 'R7'],
    why: 'A step of the database’s clock, or its return after an outage, has live leases swept at once (I6).',
    rewrites: [
      {
        module: 'lease-store/dist/create-clock-watch.js',
        find: 'return Math.max(0, this.#quietFromMs + options.ttlMs - clock.monotonicMs());',
        replace: 'return Math.max(0, -options.ttlMs - clock.monotonicMs());',
      },
    ],
  },
  {
    name: 'muted-bus',
    description: 'A lost turn keeps its writer, and its agent’s cancelTask gets the live bus.',
    scenarios: ['R4', 'R5', 'R9'],
    why:
      'The local deadline comes a margin before the expiry. Where only the beats fail (`leases.beat@before=hang` and ' +
      '`leases.beatOne@before=hang`), what the agent says when it is told lands in that margin: a task is CANCELED ' +
      'that nobody cancelled, or gets events after its signal fired.',
    rewrites: [
      {
        module: 'request-handler/dist/running-turn.js',
        find: 'void this.tellAgent(new TurnBus(null));',
        replace: 'void this.tellAgent(this.bus);',
      },
      {
        module: 'request-handler/dist/running-turn.js',
        find: '        this.sealed = true;\n        this.lost.abort();\n        this.writer.stop();\n',
        replace: '',
      },
      {
        module: 'request-handler/dist/running-turn.js',
        find: '        this.finished = true;\n        this.sealed = true;\n',
        replace: '        this.finished = true;\n',
      },
    ],
  },
  {
    name: 'poll-behind-listen',
    description: 'Nobody looks at the log behind LISTEN: a lost hint is a lost event.',
    scenarios: ['R18', 'R9b'],
    why: 'With all hints dropped the subscribers on other replicas hear nothing (I5).',
    databases: ['postgresql'],
    rewrites: [
      {
        module: 'event-stream/dist/hints/listen-notify.js',
        find: 'return this.#listening ? (pollIntervalMs ?? 1000) : Math.min(pollIntervalMs ?? 250, 250);',
        replace: 'return this.#listening ? 3_600_000 : Math.min(pollIntervalMs ?? 250, 250);',
      },
    ],
  },
];

const PROVIDERS = ['postgresql', 'mysql', 'sqlite'];

/** Every mutation, its rewrites named and counted from the root of the workspace. */
export const mutations = [...sqlMutations, ...codeMutations, ...pushMutations, ...retentionMutations].map(
  (mutation) => ({
    ...mutation,
    databases: mutation.databases ?? PROVIDERS,
    rewrites: mutation.rewrites.map((rewrite) => ({
      ...rewrite,
      name: `mutation ${mutation.name}`,
      module: `packages/${rewrite.module}`,
    })),
  }),
);

/** The mutation of that name. @throws Error that lists the names. */
export function mutationNamed(name) {
  const found = mutations.find((mutation) => mutation.name === name);
  if (found) return found;
  const names = mutations.map((mutation) => mutation.name).join(', ');
  throw new Error(`there is no mutation \`${name}\`; there are ${names}`);
}
