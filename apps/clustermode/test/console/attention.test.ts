import { describe, expect, test } from '@jest/globals';
import type { Sample } from '@a2a-cluster/console/api';
import { attentionOf, type AttentionFacts } from '../../src/console/attention.js';
import { sampleOf, type KeptSample } from '../../src/console/samples.js';
import { replicaInfo } from '../../src/console/views.js';
import { lease, listing } from './listings.js';

const two = [listing('r1'), listing('r2')].map((row) => replicaInfo(row, 0));
const silent = (beatAgeMs: number): AttentionFacts['replicas'] => [
  ...two,
  replicaInfo(listing('r3/x', { beatAgeMs }), 0),
];

/** A cluster in which all is well. */
const well: AttentionFacts = {
  ...{ replicaId: 'r1', provider: 'postgresql', hints: 'listen', listening: true },
  ...{ leaseTtlMs: 15_000, heartbeatMs: 5_000, knownAgeMs: 2_000, lookingForMs: 600_000 },
  ...{ replicas: two, inPhaseMs: new Map(), leaseless: 0, leases: [lease('r1', 9_000)] },
  push: { waiting: 3, retrying: 0, disabled: 0, deadLetters: 0 },
  ...{ pushTask: {}, samples: [] },
};

function sample(atMs: number, more: { shown?: Partial<Sample>; swept?: number; lost?: number }): KeptSample {
  const { shown, counted, elapsedMs } = sampleOf(null, { readAtMs: 0, atMs, replicas: [] });
  return {
    elapsedMs,
    shown: { ...shown, ...more.shown },
    counted: { ...counted, turnsSwept: more.swept ?? 0, leasesLost: more.lost ?? 0 },
  };
}

/** A sample every 5 s for so long, refusals at this rate. */
function refusing(perMin: (atMs: number) => number): KeptSample[] {
  return Array.from({ length: 144 }, (_, at) => at * 5_000).map((atMs) =>
    sample(atMs, { shown: { refusedPerMin: perMin(atMs) } }),
  );
}

const push = (more: Partial<NonNullable<AttentionFacts['push']>>): Partial<AttentionFacts> => ({
  push: { waiting: 0, retrying: 0, disabled: 0, deadLetters: 0, ...more },
});
const inPhase = (phase: 'paused' | 'draining', forMs: number): Partial<AttentionFacts> => ({
  replicas: [...two, replicaInfo(listing('r3', { phase }), 0)],
  inPhaseMs: new Map([['r3', forMs]]),
});
const other = (version: string): Partial<AttentionFacts> => ({
  replicas: [...two, replicaInfo(listing('r3', { version }), 0)],
});

type Row = readonly [string, Partial<AttentionFacts>, readonly string[]];
const TABLE: readonly Row[] = [
  ['all is well', {}, []],
  ['without webhooks', { push: null }, []],
  ['the database is away', { knownAgeMs: 15_001 }, ['critical database_away /']],
  ['the table was never read', { knownAgeMs: null }, ['critical database_away /']],
  ['the table was not read yet', { knownAgeMs: null, lookingForMs: 1_000 }, []],
  [
    'a silent replica with leases',
    { replicas: silent(16_000), leases: [lease('r3/x', 1_000)] },
    ['critical replica_silent /tasks?holder=r3%2Fx'],
  ],
  ['a silent replica without leases', { replicas: silent(16_000) }, ['warning replica_silent /replicas']],
  ['one that has been silent for long', { replicas: silent(700_000) }, []],
  ['an expired lease, soon swept', { leases: [lease('r2', -2_000)] }, []],
  [
    'an expired lease that nobody sweeps',
    { leases: [lease('r2', -15_001, 't/1')] },
    ['critical leases_overdue /tasks/t%2F1'],
  ],
  [
    'several of them',
    { leases: [lease('r2', -15_001), lease('r2', -15_002)] },
    ['critical leases_overdue /tasks?holder=r2'],
  ],
  ['no other replica', { replicas: two.slice(0, 1) }, ['warning one_replica /replicas']],
  ['no other replica on a file', { replicas: two.slice(0, 1), provider: 'sqlite' }, []],
  [
    'no other that lives, on a file',
    {
      replicas: [...two.slice(0, 1), replicaInfo(listing('r2', { beatAgeMs: 700_000 }), 0)],
      provider: 'sqlite',
    },
    ['warning one_replica /replicas'],
  ],
  ['two versions', other('1.1.0'), ['warning mixed_versions /replicas']],
  [
    'another version that is silent',
    { replicas: [...two, replicaInfo(listing('r3', { version: '0.9.0', beatAgeMs: 700_000 }), 0)] },
    [],
  ],
  ['LISTEN is down', { listening: false }, ['warning listen_down /']],
  ['polling is wanted', { listening: false, hints: 'poll' }, []],
  [
    'tasks without a lease',
    { leaseless: 2 },
    ['warning leaseless_tasks /tasks?state=TASK_STATE_WORKING&state=TASK_STATE_SUBMITTED'],
  ],
  [
    'dead letters',
    { ...push({ deadLetters: 1 }), pushTask: { dead: 'd' } },
    ['warning push_dead_letters /tasks/d'],
  ],
  [
    'a disabled webhook',
    { ...push({ disabled: 1 }), pushTask: { stuck: 's' } },
    ['warning push_disabled /tasks/s'],
  ],
  ['webhooks that fail, of no task that was found', push({ retrying: 2 }), ['warning push_retrying /tasks']],
  [
    'turns were swept',
    { samples: [sample(0, { swept: 1 }), sample(299_000, {})] },
    ['warning turns_swept /tasks?state=TASK_STATE_FAILED&youngerThanMs=3600000'],
  ],
  ['that is long ago', { samples: [sample(0, { swept: 1 }), sample(301_000, {})] }, []],
  ['leases were lost', { samples: [sample(0, { lost: 2 })] }, ['warning leases_lost /replicas']],
  ['a few refusals', { samples: refusing(() => 5) }, []],
  ['many refusals, as before', { samples: refusing(() => 80) }, []],
  [
    'more refusals than before',
    { samples: refusing((atMs) => (atMs > 600_000 ? 80 : 10)) },
    ['warning refusals_rising /replicas'],
  ],
  ['a replica is paused', inPhase('paused', 60_000), []],
  ['a replica is paused for long', inPhase('paused', 601_000), ['warning paused_long /replicas']],
  ['a replica drains', inPhase('draining', 20_000), []],
  ['a replica drains for long', inPhase('draining', 121_000), ['warning draining_long /replicas']],
  [
    'several things, the urgent first',
    { ...push({ deadLetters: 1 }), listening: false, leases: [lease('r2', -60_000)] },
    ['critical leases_overdue /tasks/task-1', 'warning listen_down /', 'warning push_dead_letters /tasks'],
  ],
];

describe('what a person should look at', () => {
  test.each(TABLE)('%s', (_name, more, expected) => {
    const found = attentionOf({ ...well, ...more });
    expect(found.map(({ severity, code, link }) => `${severity} ${code} ${link}`)).toEqual(expected);
    for (const { message } of found) expect(message).toMatch(/^[A-Z0-9r].*[.?]$/s);
  });
});
