import { describe, expect, test } from '@jest/globals';
import { createSilentLogger, type Logger } from '@a2a-cluster/core';
import { createMemoryDatabase, type Database, type ReplicaPhase, type ReplicaReport } from '@a2a-cluster/db';
import { createFakeClock, type FakeClock } from '@a2a-cluster/testing';
import { describeServiceStress } from '@a2a-cluster/testing/contract';
import { createReplicaBoard, type ReplicaBoard } from '../src/replica-board.js';
import { watchedDatabase, type Watched } from './support.js';

const HEARTBEAT_MS = 5_000;
const DAY_MS = 86_400_000;
const STATS = {
  ...{ runningTurns: 0, heldLeases: 0, subscribers: 0, turnsStarted: 0, turnsEnded: 0, turnsParked: 0 },
  ...{ turnsRefused: 0, leasesLost: 0, turnsSwept: 0, pushDelivered: 0, pushFailed: 0, pushInFlight: 0 },
};

interface Harness extends Watched {
  readonly board: ReplicaBoard;
  /** What the replica says of itself from now on. */
  say(phase: ReplicaPhase): void;
  readonly wishes: boolean[];
}

interface World {
  readonly clock: FakeClock;
  readonly inner: Database;
  join(replicaId: string, more?: { provider?: Database['provider']; logger?: Logger }): Harness;
}

function createWorld(): World {
  const clock = createFakeClock();
  const inner = createMemoryDatabase({ clock });
  return {
    clock,
    inner,
    join(replicaId, { provider = 'memory', logger = createSilentLogger() } = {}) {
      const watched = watchedDatabase(inner);
      const wishes: boolean[] = [];
      let phase: ReplicaPhase = 'running';
      const board = createReplicaBoard({
        database: { ...watched.database, provider },
        identity: { replicaId, version: '1.0.0', host: 'here', pid: 1, heartbeatMs: HEARTBEAT_MS },
        clock,
        logger,
        describe: () => ({ phase, stats: STATS }),
        onPause: (wish) => {
          wishes.push(wish);
          if (wish !== (phase === 'paused')) phase = wish ? 'paused' : 'running';
        },
      });
      return { ...watched, board, wishes, say: (next) => void (phase = next) };
    },
  };
}

const namesOf = (board: ReplicaBoard): string[] =>
  board
    .known()
    .replicas.map(({ replicaId }) => replicaId)
    .sort();

describeServiceStress('a board of replicas', (clock) =>
  createReplicaBoard({
    database: createMemoryDatabase({ clock }),
    identity: { replicaId: 'a', version: '1.0.0', host: 'here', pid: 1, heartbeatMs: HEARTBEAT_MS },
    ...{ clock, logger: createSilentLogger() },
    describe: () => ({ phase: 'running', stats: STATS }),
    onPause: () => {},
  }),
);

describe('a board', () => {
  test('asks nothing before its start, then enters its replica and knows of the others', async () => {
    const { clock, join } = createWorld();
    const [a, b] = [join('a'), join('b')];
    await clock.advance(60_000);
    expect(a.calls).toEqual([]);
    expect(a.board.known()).toEqual({ replicas: [], ageMs: null });
    expect(a.board.ageMs()).toBeNull();
    await a.board.start();
    await b.board.start();
    await clock.advance(1_000);
    expect(namesOf(b.board)).toEqual(['a', 'b']);
    expect(b.board.known().ageMs).toBe(1_000);
    await clock.advance(HEARTBEAT_MS);
    expect(namesOf(a.board)).toEqual(['a', 'b']);
    expect(a.board.ageMs()).toBe(1_000);
    await Promise.all([a.board.close(), b.board.close()]);
  });

  test('makes one statement per heartbeat', async () => {
    const { clock, join } = createWorld();
    const { board, calls } = join('a');
    await board.start();
    await clock.advance(100);
    calls.length = 0;
    await clock.advance(20 * HEARTBEAT_MS);
    expect(calls).toEqual(Array.from({ length: 20 }, () => 'report'));
    await board.close();
  });

  test('asks at once when something changed', async () => {
    const { clock, join, inner } = createWorld();
    const { board, say } = join('a');
    await board.start();
    await clock.advance(100);
    say('draining');
    board.changed();
    await clock.advance(1);
    expect(await inner.replicas.list()).toMatchObject([{ replicaId: 'a', phase: 'draining' }]);
    await board.close();
  });

  test('tells what an operator wants, at every reading, and asks again when that changed what it says', async () => {
    const { clock, join, inner } = createWorld();
    const a = join('a');
    await a.board.start();
    await clock.advance(100);
    await inner.replicas.requestPause({ replicaId: 'a', paused: true });
    await clock.advance(HEARTBEAT_MS);
    expect(a.wishes.at(-1)).toBe(true);
    expect(await inner.replicas.list()).toMatchObject([{ replicaId: 'a', phase: 'paused' }]);
    await inner.replicas.requestPause({ replicaId: 'a', paused: false });
    await clock.advance(HEARTBEAT_MS);
    expect(a.wishes.at(-1)).toBe(false);
    expect(await inner.replicas.list()).toMatchObject([{ replicaId: 'a', phase: 'running' }]);
    await a.board.close();
  });

  test('enters its replica again when its row is gone, as old as it is', async () => {
    const { clock, join, inner } = createWorld();
    const a = join('a');
    await a.board.start();
    await clock.advance(100_000);
    await inner.replicas.remove('a');
    await clock.advance(HEARTBEAT_MS);
    const [row] = await inner.replicas.list();
    expect(row).toMatchObject({ replicaId: 'a' });
    expect(row?.upMs).toBeGreaterThanOrEqual(100_000);
    expect(namesOf(a.board)).toEqual(['a']);
    await a.board.close();
  });

  test('takes its row away when it closes, and nobody has it back', async () => {
    const { clock, join, inner } = createWorld();
    const [a, b] = [join('a'), join('b')];
    await a.board.start();
    await b.board.start();
    await clock.advance(100);
    await a.board.close();
    await clock.advance(10 * HEARTBEAT_MS);
    expect(namesOf(b.board)).toEqual(['b']);
    expect(a.calls.at(-1)).toBe('remove');
    await b.board.close();
    expect(await inner.replicas.list()).toEqual([]);
  });

  test('forgets a replica that has been silent for a day', async () => {
    const { clock, join, inner } = createWorld();
    const [a, b] = [join('a'), join('b')];
    await a.board.start();
    await b.board.start();
    await clock.advance(100);
    a.hang();
    for (let hours = 0; hours < 24; hours += 1) await clock.advance(DAY_MS / 24);
    expect(namesOf(b.board)).toEqual(['a', 'b']);
    await clock.advance(2 * HEARTBEAT_MS);
    expect((await inner.replicas.list()).map(({ replicaId }) => replicaId)).toEqual(['b']);
    expect(b.calls.filter((name) => name === 'forget')).toHaveLength(1);
    const closing = Promise.all([a.board.close(), b.board.close()]);
    await clock.advance(HEARTBEAT_MS);
    await closing;
  }, 30_000);
});

describe('a board whose database does not answer', () => {
  test('asks again after each interval, knows how old the last answer is, and closes all the same', async () => {
    const { clock, join } = createWorld();
    const { board, hang, calls } = join('a');
    await board.start();
    await clock.advance(100);
    hang();
    calls.length = 0;
    await clock.advance(4 * HEARTBEAT_MS);
    // It waits for an answer as long as until the next question.
    expect(calls.length).toBeGreaterThanOrEqual(2);
    expect(board.ageMs()).toBeGreaterThanOrEqual(4 * HEARTBEAT_MS);
    const closing = board.close();
    await clock.advance(HEARTBEAT_MS);
    await closing;
    expect(clock.pendingTimers()).toBe(0);
  });

  test('says so once, and once that it answers again', async () => {
    const { clock, inner } = createWorld();
    const said: string[] = [];
    const note = (level: string) => (_: object, message: string) => void said.push(`${level}: ${message}`);
    const logger = { ...createSilentLogger(), warn: note('warn'), info: note('info') };
    let away = false;
    const report = (own: ReplicaReport) =>
      away ? Promise.reject(new Error('away')) : inner.replicas.report(own);
    const board = createReplicaBoard({
      database: { provider: 'memory', replicas: { ...inner.replicas, report } },
      identity: { replicaId: 'a', version: '1.0.0', host: 'here', pid: 1, heartbeatMs: HEARTBEAT_MS },
      ...{ clock, logger },
      describe: () => ({ phase: 'running', stats: STATS }),
      onPause: () => {},
    });
    await board.start();
    away = true;
    await clock.advance(4 * HEARTBEAT_MS);
    expect(board.ageMs()).toBeGreaterThanOrEqual(4 * HEARTBEAT_MS);
    away = false;
    await clock.advance(4 * HEARTBEAT_MS);
    expect(board.ageMs()).toBeLessThanOrEqual(HEARTBEAT_MS);
    expect(said).toEqual([
      'warn: the database does not answer, or takes no writes',
      'info: the database answers again',
    ]);
    await board.close();
  });

  test('enters its replica once it can, though it could not at the start', async () => {
    const { clock, inner } = createWorld();
    let away = true;
    const register: typeof inner.replicas.register = (own) =>
      away ? Promise.reject(new Error('away')) : inner.replicas.register(own);
    const board = createReplicaBoard({
      database: { provider: 'memory', replicas: { ...inner.replicas, register } },
      identity: { replicaId: 'a', version: '1.0.0', host: 'here', pid: 1, heartbeatMs: HEARTBEAT_MS },
      ...{ clock, logger: createSilentLogger() },
      describe: () => ({ phase: 'running', stats: STATS }),
      onPause: () => {},
    });
    await board.start();
    await clock.advance(HEARTBEAT_MS);
    expect(await inner.replicas.list()).toEqual([]);
    away = false;
    await clock.advance(HEARTBEAT_MS);
    expect(await inner.replicas.list()).toHaveLength(1);
    await board.close();
  });
});

describe('the first of the replicas that are alive', () => {
  test('is the one with the smallest id, and the next one once that is silent for three heartbeats', async () => {
    const { clock, join } = createWorld();
    const [a, b] = [join('a'), join('b')];
    expect(a.board.isFirstAlive()).toBe(false);
    await a.board.start();
    await b.board.start();
    await clock.advance(HEARTBEAT_MS);
    expect([a.board.isFirstAlive(), b.board.isFirstAlive()]).toEqual([true, false]);
    a.hang();
    await clock.advance(2 * HEARTBEAT_MS);
    expect(b.board.isFirstAlive()).toBe(false);
    await clock.advance(3 * HEARTBEAT_MS);
    expect([a.board.isFirstAlive(), b.board.isFirstAlive()]).toEqual([false, true]);
    const closing = Promise.all([a.board.close(), b.board.close()]);
    await clock.advance(HEARTBEAT_MS);
    await closing;
  });
});

describe('reports that beats carry', () => {
  test('are for PostgreSQL alone', async () => {
    const { clock, join } = createWorld();
    for (const provider of ['memory', 'sqlite', 'mysql'] as const) {
      const { board } = join(provider, { provider });
      await board.start();
      await clock.advance(100);
      expect(board.reporter.take()).toBeNull();
      await board.close();
    }
  });

  test('spare the board its own, and it writes itself again once they stop', async () => {
    const { clock, join } = createWorld();
    const { board, calls } = join('a', { provider: 'postgresql' });
    expect(board.reporter.take()).toBeNull();
    await board.start();
    await clock.advance(100);
    calls.length = 0;
    for (let beats = 0; beats < 3; beats += 1) {
      expect(board.reporter.take()).toEqual({ replicaId: 'a', phase: 'running', stats: STATS });
      board.reporter.done(true);
      await clock.advance(HEARTBEAT_MS);
    }
    await clock.advance(2 * HEARTBEAT_MS);
    expect(calls).toEqual(['list', 'list', 'list', 'report', 'report']);
    await board.close();
    expect(board.reporter.take()).toBeNull();
  });

  test('end when a beat with one failed, until the table has taken one of the board', async () => {
    const { clock, join } = createWorld();
    const { board, calls } = join('a', { provider: 'postgresql' });
    await board.start();
    await clock.advance(100);
    board.reporter.take();
    board.reporter.done(false);
    expect(board.reporter.take()).toBeNull();
    calls.length = 0;
    await clock.advance(HEARTBEAT_MS);
    expect(calls).toEqual(['report']);
    expect(board.reporter.take()).not.toBeNull();
    await board.close();
  });
});
