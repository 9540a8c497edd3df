import { describe, expect, test } from '@jest/globals';
import { Random } from '@a2a-cluster/testing';
import { BEGAN_MS, ended, type HistoryBuilder } from './support/build-history.js';
import { randomHistory } from './support/random-history.js';
import { judged } from './support/usual.js';

const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);

/** Breaks one thing; null: there is nothing of the kind in this history. */
type Corruption = (built: HistoryBuilder, random: Random) => string | null;

type Row = HistoryBuilder['events'][number];
type Stream = HistoryBuilder['streams'][number];

const CANCELED = 'TASK_STATE_CANCELED';

/** Rows that only the holder of their epoch may have written. */
const ofHolder = ({ payload, writeId }: Row): boolean =>
  !payload.includes(CANCELED) && !writeId.startsWith('sweep');

const corruptions: Readonly<Record<string, Corruption>> = {
  'a row is missing': (built, random) => {
    const row = random.pick(built.events);
    built.events.splice(built.events.indexOf(row), 1);
    return `${row.taskId} seq ${row.seq}`;
  },
  'a row stands there twice': (built, random) => {
    const row = random.pick(built.events);
    built.events.splice(built.events.indexOf(row), 0, { ...row, writeId: 'another' });
    return `${row.taskId} seq ${row.seq}`;
  },
  'two rows are exchanged': (built, random) => {
    const pairs = built.events.flatMap((row, index) => {
      const next = built.events[index + 1];
      const shown = row.kind !== 'message' && next?.kind !== 'message';
      return next && shown && next.taskId === row.taskId ? [[row, next] as const] : [];
    });
    const [one, two] = random.pick(pairs);
    [one.payload, two.payload, one.kind, two.kind] = [two.payload, one.payload, two.kind, one.kind];
    return `${one.taskId} seq ${one.seq}`;
  },
  'an epoch is another': (built, random) => {
    const row = random.pick(built.events.filter(ofHolder));
    row.epoch += random.pick([-1, 1]);
    return `${row.taskId} seq ${row.seq} epoch ${row.epoch}`;
  },
  'a holder is another': (built, random) => {
    const row = random.pick(built.events.filter(ofHolder));
    row.holder = random.pick(built.replicas.filter(({ holder }) => holder !== row.holder)).holder ?? '';
    return `${row.taskId} seq ${row.seq} ${row.holder}`;
  },
  'a state is another': (built, random) => {
    const task = random.pick([...new Set(built.events.map(({ taskId }) => taskId))]);
    built.taskRows.set(task, { state: 'TASK_STATE_REJECTED' });
    return task;
  },
  'a frame is missing': (built, random) => {
    // Where a stream broke off, its last frame may as well not have come.
    const place = pickFrame(built, random, (each, index) => whole(each) || index < each.frames.length - 1);
    if (place === null) return null;
    const { stream, at } = place;
    stream.frames.splice(at, 1);
    return `${stream.id} frame ${at + 1}`;
  },
  'a frame came twice': (built, random) => {
    const place = pickFrame(built, random, () => true);
    if (place === null) return null;
    const { stream, at } = place;
    stream.frames.splice(at, 0, stream.frames[at]!);
    return `${stream.id} frame ${at + 1}`;
  },
  'two frames are exchanged': (built, random) => {
    const place = pickFrame(built, random, (each, index) => index < each.frames.length - 1);
    if (place === null) return null;
    const { stream, at } = place;
    const [one, two] = stream.frames.slice(at, at + 2);
    stream.frames.splice(at, 2, two!, one!);
    return `${stream.id} frame ${at + 1}`;
  },
  'a stream was ended too early': (built, random) => {
    const place = pickFrame(built, random, (each, index) => whole(each) && index > 0);
    if (place === null) return null;
    const { stream, at } = place;
    stream.frames.splice(at);
    stream.ended = ended(stream.frames.at(-1)?.atMs ?? BEGAN_MS);
    return `${stream.id} after ${at}`;
  },
  'a push is missing': (built, random) => {
    const killed = built.faults.map(({ replica }) => `${replica}-boot`);
    const sent = built.pushes.filter(({ atMs }) => {
      const row = built.events.find(({ createdAtMs }) => createdAtMs === atMs - 20);
      return row && !killed.includes(row.holder);
    });
    if (sent.length === 0) return null;
    const push = random.pick(sent);
    built.pushes.splice(built.pushes.indexOf(push), 1);
    return `${push.taskId} at ${push.atMs - BEGAN_MS}`;
  },
  'a push came twice': (built, random) => {
    if (built.pushes.length === 0) return null;
    const push = random.pick(built.pushes);
    built.pushes.push({ ...push });
    return `${push.taskId} at ${push.atMs - BEGAN_MS}`;
  },
};

const whole = ({ ended: end }: Stream): boolean => end?.how === 'complete';

function pickFrame(
  built: HistoryBuilder,
  random: Random,
  fits: (stream: Stream, index: number) => boolean,
): { readonly stream: Stream; readonly at: number } | null {
  const places = built.streams.flatMap((stream) =>
    stream.frames.flatMap((_, at) => (fits(stream, at) ? [{ stream, at }] : [])),
  );
  return places.length === 0 ? null : random.pick(places);
}

describe('of random histories', () => {
  test('those that keep every promise are found to', () => {
    for (const seed of SEEDS) {
      const built = randomHistory(seed);
      expect(built.streams.length).toBeGreaterThan(0);
      expect({ seed, found: judged(built) }).toEqual({ seed, found: [] });
    }
  });

  test.each(Object.entries(corruptions))('those in which %s are found out', (_what, corrupt) => {
    let corrupted = 0;
    for (const seed of SEEDS) {
      const built = randomHistory(seed);
      const where = corrupt(built, new Random(seed));
      if (where === null) continue;
      corrupted += 1;
      expect({ seed, where, found: judged(built).length > 0 }).toEqual({ seed, where, found: true });
    }
    expect(corrupted).toBeGreaterThan(SEEDS.length / 4);
  });
});
