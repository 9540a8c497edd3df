import type { ChildProcess } from 'node:child_process';
import type { FailpointTrigger, FromReplica, TestBuildReport, ToReplica } from './test-build.js';

/** What is waited for, asked again at every message. */
interface Waiter {
  look(): boolean;
  fail(cause: Error): void;
}

/**
 * The failpoints of one replica of the test build, seen from its parent. The process needs an IPC channel. Make one
 * per process, right after `spawn`: who comes later misses what the first has heard.
 */
export class Failpoints {
  /** Everything that failpoints did, in order. */
  readonly triggers: FailpointTrigger[] = [];
  private readonly waiters = new Set<Waiter>();
  private readonly answers: Extract<FromReplica, { failpointsSet: boolean }>[] = [];
  private asked = 0;
  private reported: TestBuildReport | undefined;
  private gone: Error | undefined;

  constructor(private readonly child: Pick<ChildProcess, 'send' | 'on' | 'connected'>) {
    child.on('message', (message) => this.hear(message as FromReplica));
    if (!child.connected) this.gone = new Error('the replica is gone, or has no IPC channel');
    child.on('disconnect', () => {
      this.gone = new Error('the replica is gone');
      this.wake();
    });
  }

  /** Replaces the plan; resolves when the new one holds. Rejects when it cannot be read, or the replica is gone. */
  async set(plan: string): Promise<void> {
    const place = this.asked;
    this.asked += 1;
    this.say({ failpoints: plan });
    const answer = await this.until(() => this.answers[place]);
    if (!answer.failpointsSet) throw new Error(answer.error);
  }

  /** The first trigger of that failpoint, past or to come. Rejects when the replica ends without it. */
  passed(failpoint: string): Promise<FailpointTrigger> {
    return this.until(() => this.triggers.find((trigger) => trigger.failpoint === failpoint));
  }

  /** Which rewrites the replica runs with; resolves when its database is open. */
  report(): Promise<TestBuildReport> {
    return this.until(() => this.reported);
  }

  private say(message: ToReplica): void {
    if (this.gone === undefined) this.child.send?.(message);
  }

  private hear(message: FromReplica): void {
    if ('failpoint' in message) this.triggers.push(message);
    else if ('failpointsSet' in message) this.answers.push(message);
    else if ('testBuild' in message) this.reported = message.testBuild;
    this.wake();
  }

  private until<T>(find: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        look: () => {
          const found = find();
          if (found !== undefined) resolve(found);
          return found !== undefined;
        },
        fail: reject,
      };
      this.waiters.add(waiter);
      this.wake();
    });
  }

  private wake(): void {
    for (const waiter of [...this.waiters]) {
      const done = waiter.look();
      if (!done && this.gone === undefined) continue;
      this.waiters.delete(waiter);
      if (!done && this.gone !== undefined) waiter.fail(this.gone);
    }
  }
}
