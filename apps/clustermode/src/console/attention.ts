import type { Attention, Overview, ReplicaInfo } from '@a2a-cluster/console/api';
import type { LeaseListing } from '@a2a-cluster/core';
import { shownDuration } from '../shown-duration.js';
import type { KeptSample } from './samples.js';

/** What the list is made of; all of it in the memory of the replica that answers. */
export interface AttentionFacts {
  readonly replicaId: string;
  readonly provider: Overview['provider'];
  readonly hints: Overview['hints'];
  readonly listening: boolean;
  readonly leaseTtlMs: number;
  /** Of this replica. */
  readonly heartbeatMs: number;
  readonly knownAgeMs: number | null;
  /** Since this process began to look. */
  readonly lookingForMs: number;
  readonly replicas: readonly ReplicaInfo[];
  /** For how long each replica has been in its phase, as this one saw it. */
  readonly inPhaseMs: ReadonlyMap<string, number>;
  readonly leaseless: number;
  /** The leases next to expire, the expired ones first. */
  readonly leases: readonly LeaseListing[];
  readonly push: Overview['push'];
  /** A task with each sort of trouble with its webhooks, where one was found. */
  readonly pushTask: { readonly dead?: string; readonly stuck?: string };
  /** The oldest first. */
  readonly samples: readonly KeptSample[];
}

type Rule = (facts: AttentionFacts) => Attention | readonly Attention[] | undefined;

const MINUTE_MS = 60_000;
/** A replica that went silent without leases is spoken of for so long. */
const SILENT_NEWS_MS = 10 * MINUTE_MS;
/** What happened within this time is news. */
const RECENT_MS = 5 * MINUTE_MS;
/** Longer than this nobody means to leave a replica paused, or waits for one to drain. */
const LONG_PAUSED_MS = 10 * MINUTE_MS;
const LONG_DRAINING_MS = 2 * MINUTE_MS;
/** Refusals of the last minutes count as rising above this rate, and above twice the rate before. */
const RISING_OVER_MS = 2 * MINUTE_MS;
const RISING_PER_MIN = 5;

/** What a person should look at, the most urgent first; empty: all is well. */
export function attentionOf(facts: AttentionFacts): readonly Attention[] {
  const found = RULES.flatMap((rule) => rule(facts) ?? []);
  return [...found.filter(isCritical), ...found.filter((one) => !isCritical(one))];
}

function isCritical({ severity }: Attention): boolean {
  return severity === 'critical';
}

const databaseAway: Rule = ({ knownAgeMs, heartbeatMs, lookingForMs }) => {
  const ageMs = knownAgeMs ?? lookingForMs;
  if (ageMs <= 3 * heartbeatMs) return undefined;
  const message = `This replica has read nothing from the database for ${shownDuration(ageMs)}: all that is shown is as old.`;
  return { severity: 'critical', code: 'database_away', message, link: '/' };
};

const silentReplicas: Rule = ({ replicas, leases }) =>
  replicas
    .filter(({ health }) => health === 'silent')
    .flatMap(({ replicaId, beatAgeMs }): readonly Attention[] => {
      const held = leases.filter(({ holder }) => holder === replicaId).length;
      const silence = `${replicaId} has said nothing for ${shownDuration(beatAgeMs)}`;
      const common = { code: 'replica_silent' as const };
      if (held > 0) {
        const message = `${silence} and holds ${held === 1 ? 'a lease' : `${held} leases`}: others end its turns when they expire.`;
        return [{ severity: 'critical', ...common, message, link: tasksOf(replicaId) }];
      }
      if (beatAgeMs > SILENT_NEWS_MS) return [];
      const message = `${silence}; it did not close. It holds no lease any more.`;
      return [{ severity: 'warning', ...common, message, link: '/replicas' }];
    });

const overdueLeases: Rule = ({ leases, leaseTtlMs }) => {
  const overdue = leases.filter(({ remainingMs }) => remainingMs < -leaseTtlMs);
  const [first] = overdue;
  if (first === undefined) return undefined;
  const message =
    `${overdue.length === 1 ? 'A lease' : `${overdue.length} leases`} expired more than ${shownDuration(leaseTtlMs)} ago and ` +
    'nobody swept: does any replica sweep?';
  const link = overdue.length === 1 ? taskLink(first.taskId) : tasksOf(first.holder);
  return { severity: 'critical', code: 'leases_overdue', message, link };
};

const alone: Rule = ({ replicas, provider, replicaId }) => {
  const others = replicas.filter((replica) => replica.replicaId !== replicaId);
  const several = provider === 'postgresql' || provider === 'mysql' || others.length > 0;
  if (!several || replicas.length === 0 || others.some(({ health }) => health === 'alive')) return undefined;
  const message = 'No other replica is alive: when this one dies, nobody ends its turns.';
  return { severity: 'warning', code: 'one_replica', message, link: '/replicas' };
};

const mixedVersions: Rule = ({ replicas }) => {
  const alive = replicas.filter(({ health }) => health === 'alive');
  const versions = [...new Set(alive.map(({ version }) => version))].sort();
  if (versions.length < 2) return undefined;
  const message = `Replicas of different versions run side by side: ${versions.join(', ')}.`;
  return { severity: 'warning', code: 'mixed_versions', message, link: '/replicas' };
};

const listenDown: Rule = ({ hints, listening }) => {
  if (hints !== 'listen' || listening) return undefined;
  const message =
    'LISTEN does not work here: streams hear of other replicas by asking only, so later. Is a pooler in between?';
  return { severity: 'warning', code: 'listen_down', message, link: '/' };
};

const leaselessTasks: Rule = ({ leaseless }) => {
  if (leaseless === 0) return undefined;
  const message = `${count(leaseless, 'task')} working without a lease: nobody runs them, and nobody will end them.`;
  const link = '/tasks?state=TASK_STATE_WORKING&state=TASK_STATE_SUBMITTED';
  return { severity: 'warning', code: 'leaseless_tasks', message, link };
};

const webhooks: Rule = ({ push, pushTask }) => {
  if (push === null) return undefined;
  const warn = (code: string, message: string, taskId: string | undefined): Attention => ({
    ...{ severity: 'warning', code, message },
    link: taskId === undefined ? '/tasks' : taskLink(taskId),
  });
  const { deadLetters, disabled, retrying } = push;
  return [
    ...(deadLetters === 0
      ? []
      : [
          warn(
            'push_dead_letters',
            `${past(deadLetters, 'event')} given up and never delivered.`,
            pushTask.dead,
          ),
        ]),
    ...(disabled === 0
      ? []
      : [
          warn('push_disabled', `${count(disabled, 'webhook')} disabled: they answered 410.`, pushTask.stuck),
        ]),
    ...(retrying === 0
      ? []
      : [warn('push_retrying', `${count(retrying, 'webhook')} failing and tried again.`, pushTask.stuck)]),
  ];
};

const swept: Rule = ({ samples }) => {
  const turns = total(recent(samples, RECENT_MS), 'turnsSwept');
  if (turns === 0) return undefined;
  const message = `${past(turns, 'turn')} swept in the last ${shownDuration(RECENT_MS)}: a replica died or lost the database.`;
  const link = `/tasks?state=TASK_STATE_FAILED&youngerThanMs=${12 * RECENT_MS}`;
  return { severity: 'warning', code: 'turns_swept', message, link };
};

const leasesLost: Rule = ({ samples }) => {
  const leases = total(recent(samples, RECENT_MS), 'leasesLost');
  if (leases === 0) return undefined;
  const message = `${past(leases, 'lease')} lost in the last ${shownDuration(RECENT_MS)}: a replica was too slow to renew, or cut off.`;
  return { severity: 'warning', code: 'leases_lost', message, link: '/replicas' };
};

const refusalsRising: Rule = ({ samples }) => {
  const now = ratePerMin(recent(samples, RISING_OVER_MS));
  const lastMs = samples.at(-1)?.shown.atMs ?? 0;
  const earlier = samples.filter(({ shown }) => shown.atMs < lastMs - RISING_OVER_MS);
  const before = ratePerMin(recent(earlier, RISING_OVER_MS * 5));
  if (now <= RISING_PER_MIN || now <= 2 * before) return undefined;
  const message = `${Math.round(now)} turns a minute are refused, ${Math.round(before)} before: replicas are full or paused.`;
  return { severity: 'warning', code: 'refusals_rising', message, link: '/replicas' };
};

const longPauses: Rule = ({ replicas, inPhaseMs }) =>
  replicas
    .filter(({ health }) => health === 'alive')
    .flatMap(({ replicaId, phase }): readonly Attention[] => {
      const forMs = inPhaseMs.get(replicaId) ?? 0;
      const common = { severity: 'warning' as const, link: '/replicas' };
      if (phase === 'paused' && forMs > LONG_PAUSED_MS)
        return [
          {
            ...common,
            code: 'paused_long',
            message: `${replicaId} has taken no turns for ${shownDuration(forMs)}: an operator paused it.`,
          },
        ];
      if (phase === 'draining' && forMs > LONG_DRAINING_MS)
        return [
          {
            ...common,
            code: 'draining_long',
            message: `${replicaId} has been closing for ${shownDuration(forMs)}.`,
          },
        ];
      return [];
    });

const RULES: readonly Rule[] = [
  ...[databaseAway, silentReplicas, overdueLeases, alone, listenDown, mixedVersions, leaselessTasks],
  ...[webhooks, swept, leasesLost, refusalsRising, longPauses],
];

function recent(samples: readonly KeptSample[], withinMs: number): readonly KeptSample[] {
  const lastMs = samples.at(-1)?.shown.atMs ?? 0;
  return samples.filter(({ shown }) => shown.atMs > lastMs - withinMs);
}

function total(samples: readonly KeptSample[], name: 'turnsSwept' | 'leasesLost'): number {
  return samples.reduce((sum, { counted }) => sum + counted[name], 0);
}

/** Of refusals, by the mean of the samples. */
function ratePerMin(samples: readonly KeptSample[]): number {
  if (samples.length === 0) return 0;
  return samples.reduce((sum, { shown }) => sum + shown.refusedPerMin, 0) / samples.length;
}

function count(of: number, what: string): string {
  return of === 1 ? `1 ${what} is` : `${of} ${what}s are`;
}

function past(of: number, what: string): string {
  return of === 1 ? `1 ${what} was` : `${of} ${what}s were`;
}

function tasksOf(holder: string): string {
  return `/tasks?holder=${encodeURIComponent(holder)}`;
}

function taskLink(taskId: string): string {
  return `/tasks/${encodeURIComponent(taskId)}`;
}
