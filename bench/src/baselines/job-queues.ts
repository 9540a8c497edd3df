import { setTimeout as pause } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import PgBoss from 'pg-boss';
import { nowMs } from '../harness/time.js';

/** A job queue with one worker that runs as its defaults have it. */
export interface JobQueue {
  /** From the begin of the adding of a job to the begin of its handler, in milliseconds. */
  latencies(options: JobLoad): Promise<number[]>;
  close(): Promise<void>;
}

/** Jobs added one after the other. */
export interface JobLoad {
  readonly count: number;
  readonly paceMs: number;
  /** A job is added only when the one before has begun: for a worker that takes one per interval. */
  readonly oneByOne?: boolean;
}

type Payload = { readonly id: number };

const NAME = 'wake-up';

/** graphile-worker: LISTEN, one job at a time, a poll every 2 s behind it. */
export async function openGraphileWorker(connectionString: string): Promise<JobQueue> {
  const logger = new Logger(() => () => {});
  const starts = new Starts();
  const runner = await run({
    connectionString,
    logger,
    noHandleSignals: true,
    taskList: { [NAME]: async (payload) => starts.begun((payload as Payload).id) },
  });
  const utils = await makeWorkerUtils({ connectionString, logger });
  return {
    latencies: (load) => starts.measure(load, async (payload) => void (await utils.addJob(NAME, payload))),
    close: async () => {
      await runner.stop();
      await utils.release();
    },
  };
}

/** pg-boss: a poll every 2 s, one job per poll. */
export async function openPgBoss(connectionString: string): Promise<JobQueue> {
  const boss = new PgBoss(connectionString);
  const starts = new Starts();
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue(NAME);
  await boss.work<Payload>(NAME, async (jobs) => {
    for (const { data } of jobs) starts.begun(data.id);
  });
  return {
    latencies: (load) => starts.measure(load, async (payload) => void (await boss.send(NAME, payload))),
    close: () => boss.stop({ graceful: false, wait: true }),
  };
}

/** Matches the begin of handlers with the adding of their jobs. */
class Starts {
  private readonly waiting = new Map<number, (atMs: number) => void>();
  private last = 0;

  begun(id: number): void {
    this.waiting.get(id)?.(nowMs());
    this.waiting.delete(id);
  }

  async measure(load: JobLoad, add: (payload: Payload) => Promise<void>): Promise<number[]> {
    const all: Promise<number>[] = [];
    for (let index = 0; index < load.count; index += 1) {
      await pause(load.paceMs);
      all.push(this.one(add));
      if (load.oneByOne === true) await all.at(-1);
    }
    return Promise.all(all);
  }

  private async one(add: (payload: Payload) => Promise<void>): Promise<number> {
    this.last += 1;
    const id = this.last;
    const begun = new Promise<number>((resolve) => this.waiting.set(id, resolve));
    const addedMs = nowMs();
    await add({ id });
    return (await begun) - addedMs;
  }
}
