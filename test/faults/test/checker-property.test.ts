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
  'a push is missing': onPush((built, push) => void built.pushes.splice(built.pushes.indexOf(push), 1)),
  'a push was not accepted': onPush((_built, push) => (push.answer = 503)),
  'a push came twice': (built, random) => {
    // What comes again about when a replica is killed is explained by that.
    const calm = built.pushes.filter(
      ({ answer, atMs }) =>
        answer === 200 && built.faults.every(({ fromMs }) => Math.abs(fromMs - atMs) > 200),
    );
    if (calm.length === 0) return null;
    const push = random.pick(calm);
    built.pushes.push({ ...push, atMs: push.atMs + 2 });
    return `${push.id} at ${push.atMs - BEGAN_MS}`;
  },
  'a push has the id of another': onPush((_built, push) => (push.id = `${push.taskId}:77:c-hook`)),
  'a push has no id': onPush((_built, push) => (push.id = null)),
  'a push came before the one before it was answered': (built, random) => {
    const pairs = built.pushes.flatMap((push, index) => {
      const next = built.pushes[index + 1];
      return next?.hook === push.hook && push.answer === 200 && next.id !== push.id
        ? [[push, next] as const]
        : [];
    });
    if (pairs.length === 0) return null;
    const [one, two] = random.pick(pairs);
    [one.atMs, two.atMs] = [two.atMs, one.atMs];
    [one.answeredAtMs, two.answeredAtMs] = [two.answeredAtMs, one.answeredAtMs];
    return `${one.id} after ${two.id}`;
  },
  'the body of a repeated push is another': (built, random) => {
    const repeated = built.pushes.filter(({ answer }) => answer === 500);
    if (repeated.length === 0) return null;
    const push = random.pick(repeated);
    push.digest = 'another';
    return push.id;
  },
};

/** Of what was accepted. */
function onPush(
  corrupt: (built: HistoryBuilder, push: HistoryBuilder['pushes'][number]) => void,
): Corruption {
  return (built, random) => {
    const accepted = built.pushes.filter(({ answer }) => answer === 200);
    if (accepted.length === 0) return null;
    const push = random.pick(accepted);
    const where = `${push.id} at ${push.atMs - BEGAN_MS}`;
    corrupt(built, push);
    return where;
  };
}

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
