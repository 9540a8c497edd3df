import { describe, expect, test } from '@jest/globals';
import type { Beat, ReplicaReport } from '@a2a-cluster/db';
import type { BeatReporter } from '../src/index.js';
import { createHarness, HOLDER } from './harness.js';

const report: ReplicaReport = {
  replicaId: HOLDER,
  phase: 'running',
  stats: {
    ...{ runningTurns: 1, heldLeases: 1, subscribers: 0, turnsStarted: 0, turnsEnded: 0, turnsParked: 0 },
    ...{ turnsRefused: 0, leasesLost: 0, turnsSwept: 0, pushDelivered: 0, pushFailed: 0, pushInFlight: 0 },
  },
};

/** A heartbeat whose beats are noted; the ones with a report can be made to fail. */
function reporting(take: () => ReplicaReport | null, done: BeatReporter['done'] = () => {}) {
  const told: boolean[] = [];
  const reporter = {
    take,
    done: (answered: boolean) => {
      told.push(answered);
      done(answered);
    },
  };
  const h = createHarness({ reporter });
  const sent: Beat[] = [];
  const faults = { withReport: false };
  h.fault.beat = (beat) => {
    sent.push(beat);
    if (faults.withReport && beat.report) return Promise.reject(new Error('the table cannot be used'));
    return h.db.leases.beat(beat);
  };
  return { ...h, sent, told, faults };
}

describe('a beat', () => {
  test('carries what the reporter gives, once per beat, and tells that it was answered', async () => {
    let asked = 0;
    const h = reporting(() => ((asked += 1), report));
    await h.heartbeat.start();
    await h.clock.advance(20_000);
    expect([asked, h.sent]).toEqual([0, []]);
    await h.acquire('a');
    await h.clock.advance(15_000);
    expect(h.sent.map((beat) => beat.report)).toEqual([report, report, report]);
    expect(asked).toBe(3);
    expect(h.told).toEqual([true, true, true]);
    await h.heartbeat.close();
  });

  test('carries nothing where the reporter has nothing, and tells nothing', async () => {
    const h = reporting(() => null);
    await h.heartbeat.start();
    await h.acquire('a');
    await h.clock.advance(10_000);
    expect(h.sent.every((beat) => !('report' in beat))).toBe(true);
    expect(h.told).toEqual([]);
    await h.heartbeat.close();
  });

  test('that fails for what it carried costs no lease: the next one goes without, and soon', async () => {
    let trusted = true;
    const h = reporting(
      () => (trusted ? report : null),
      (answered) => void (trusted = answered),
    );
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    h.faults.withReport = true;
    await h.clock.advance(5_000);
    expect(h.told).toEqual([false]);
    await h.clock.advance(200);
    expect(h.sent.map((beat) => beat.report !== undefined)).toEqual([true, false]);
    expect(lease.held.remainingMs()).toBeGreaterThan(13_000);
    await h.clock.advance(60_000);
    expect(lease.lost).toEqual([]);
    await h.heartbeat.close();
  });

  test('is not kept from its leases by a reporter that throws', async () => {
    const no = (): never => {
      throw new Error('no');
    };
    const h = reporting(no, no);
    await h.heartbeat.start();
    const lease = await h.acquire('a');
    await h.clock.advance(60_000);
    expect(lease.lost).toEqual([]);
    expect(h.beats.every(({ renewed }) => renewed === 1)).toBe(true);
    expect(h.logged.some(({ message }) => message === 'a heartbeat goes without a report')).toBe(true);
    await h.heartbeat.close();
    const told = reporting(() => report, no);
    await told.heartbeat.start();
    const other = await told.acquire('b');
    await told.clock.advance(60_000);
    expect(other.lost).toEqual([]);
    await told.heartbeat.close();
  });
});
