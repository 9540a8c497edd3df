import { setTimeout as delay } from 'node:timers/promises';
import { A2AError } from '@a2a-js/sdk/errors';
import { createSystemClock, failureReasonOf, stateName } from '@a2a-cluster/core';
import { connectTo, textMessage, type ReplicaClient, type Sight } from './replica-client.js';
import { createStepRunner, expectThat, type StepResult, type StepRunner } from './steps.js';
import { watch, type Watcher } from './watcher.js';

/** What {@link runCrash} is told. */
export interface CrashOptions {
  /** Addresses of three replicas or more; the task starts on the first. */
  readonly urls: readonly string[];
  /** The TTL the replicas run with: by it and a second the task must have failed. */
  readonly ttlMs: number;
  readonly token?: string;
  /** Told of every step as it ends. */
  readonly report: (result: StepResult) => void;
}

/** How the crash went. */
export interface CrashResult {
  readonly ok: boolean;
  readonly steps: readonly StepResult[];
  /** From the kill to FAILED at the subscriber, in milliseconds; null when it never came. */
  readonly detectedAfterMs: number | null;
  readonly ttlMs: number;
}

/** What detection may take beyond the TTL: a second for the sweeper, and half of one to be seen by a subscriber. */
const DETECTION_SLACK_MS = 1_500;
/** How long replicas may take to become ready. */
const READY_WITHIN_MS = 30_000;

/**
 * The crash of the holder of a task: a task on one replica, a subscriber and a refused follow-up on another, SIGKILL
 * to the first, FAILED at the subscriber, the same told by the third. Kills the process that `/readyz` of the first
 * names, so it works on this machine only. Never rejects.
 */
export async function runCrash(options: CrashOptions): Promise<CrashResult> {
  const runner = createStepRunner(options.report);
  let detectedAfterMs: number | null = null;
  try {
    const [first, second, third] = await replicasOf(options, runner);
    const { taskId, pid } = await startTask(runner, first);
    const subscriber = await subscribe(runner, { on: second, taskId });
    await followUp(runner, { on: second, taskId });
    const killedAtMs = await kill(runner, pid);
    detectedAfterMs = await seeFailed(runner, { subscriber, killedAtMs, ttlMs: options.ttlMs });
    await ask(runner, { on: third, taskId });
  } catch {
    // The step that failed has said so.
  }
  const steps = runner.results;
  return {
    ok: steps.length === 7 && steps.every(({ ok }) => ok),
    steps,
    detectedAfterMs,
    ttlMs: options.ttlMs,
  };
}

async function replicasOf(
  { urls, token }: CrashOptions,
  runner: StepRunner,
): Promise<[ReplicaClient, ReplicaClient, ReplicaClient]> {
  return runner.run('replicas ready', async () => {
    const all = await Promise.all(
      urls.map((url) => connectTo({ url, ...(token === undefined ? {} : { token }) })),
    );
    await Promise.all(all.map(untilReady));
    const [first, second, third] = all;
    expectThat(Boolean(first && second && third), 'three replicas are needed');
    return {
      seen: [first, second, third] as [ReplicaClient, ReplicaClient, ReplicaClient],
      detail: urls.join(', '),
    };
  });
}

/** Waits until the replica says that it is ready. */
export async function untilReady(replica: ReplicaClient): Promise<void> {
  const clock = createSystemClock();
  const deadlineMs = clock.monotonicMs() + READY_WITHIN_MS;
  for (;;) {
    const said = await replica.readyz().catch(() => undefined);
    if (said?.ready) return;
    const why = said?.reasons.join(', ') ?? 'no answer';
    expectThat(clock.monotonicMs() < deadlineMs, `${replica.url} is not ready: ${why}`);
    await delay(50);
  }
}

function startTask(runner: StepRunner, on: ReplicaClient): Promise<{ taskId: string; pid: number }> {
  return runner.run('task started', async () => {
    const stream = watch(on.client.sendMessageStream(textMessage('tick 6000 100; done never')));
    const { taskId } = await stream.first((sight) => sight.state === 'TASK_STATE_WORKING');
    const { replicaId, pid } = await on.readyz();
    return {
      seen: { taskId, pid },
      detail: `${taskId} is WORKING on ${replicaId ?? on.url} (process ${pid})`,
    };
  });
}

interface OnReplica {
  readonly on: ReplicaClient;
  readonly taskId: string;
}

function subscribe(runner: StepRunner, { on, taskId }: OnReplica): Promise<Watcher> {
  return runner.run('subscriber on another replica', async () => {
    const subscriber = watch(on.client.resubscribeTask({ id: taskId, tenant: '' }));
    await subscriber.first((sight) => sight.state !== '');
    const before = subscriber.count;
    const next = await subscriber.first(
      (sight) => subscriber.count > before && sight.text.startsWith('tick'),
    );
    return { seen: subscriber, detail: `${on.url} streams it: ${next.text}` };
  });
}

function followUp(runner: StepRunner, { on, taskId }: OnReplica): Promise<void> {
  return runner.run('follow-up refused', async () => {
    const error: unknown = await on.client.sendMessage(textMessage('done too soon', taskId)).then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expectThat(error instanceof A2AError, `it was not refused: ${String(error ?? 'it was answered')}`);
    const why = refusalReason(error);
    const busy = error.reason === 'UNSUPPORTED_OPERATION' && why === 'TASK_BUSY';
    expectThat(busy, `it was refused with ${error.name}, reason ${String(why)}: ${error.message}`);
    return { seen: undefined, detail: `${error.name}, ${why}` };
  });
}

/** The reason in the ErrorInfo of an answer, which the SDK's client leaves in `data`. */
function refusalReason(error: A2AError): unknown {
  const data: unknown = 'data' in error ? error.data : undefined;
  const [info] = Array.isArray(data) ? (data as { metadata?: Record<string, unknown> }[]) : [error];
  return info?.metadata?.['reason'];
}

function kill(runner: StepRunner, pid: number): Promise<number> {
  return runner.run('holder killed', async () => {
    process.kill(pid, 'SIGKILL');
    return { seen: createSystemClock().monotonicMs(), detail: `kill -9 ${pid}` };
  });
}

interface Detection {
  readonly subscriber: Watcher;
  readonly killedAtMs: number;
  readonly ttlMs: number;
}

function seeFailed(runner: StepRunner, { subscriber, killedAtMs, ttlMs }: Detection): Promise<number> {
  return runner.run('FAILED at the subscriber', async () => {
    const isFailed = (sight: Sight): boolean => sight.state === 'TASK_STATE_FAILED';
    const failed = await subscriber.first(isFailed);
    const afterMs = Math.round(createSystemClock().monotonicMs() - killedAtMs);
    const reason = failureReasonOf(failed.metadata);
    expectThat(reason === 'replica_lost', `the reason is ${String(reason)}`);
    await subscriber.ended;
    expectThat(subscriber.countOf(isFailed) === 1, `it came ${subscriber.countOf(isFailed)} times`);
    const latestMs = ttlMs + DETECTION_SLACK_MS;
    expectThat(afterMs <= latestMs, `it came ${afterMs} ms after the kill, later than ${latestMs} ms`);
    return { seen: afterMs, detail: `${afterMs} ms after the kill (TTL ${ttlMs} ms): ${failed.text}` };
  });
}

function ask(runner: StepRunner, { on, taskId }: OnReplica): Promise<void> {
  return runner.run('GetTask on the third replica', async () => {
    const task = await on.client.getTask({ id: taskId, tenant: '', historyLength: 1 });
    const state = stateName(task.status?.state);
    expectThat(state === 'TASK_STATE_FAILED', `it says ${state}`);
    return { seen: undefined, detail: `${on.url} says ${state}` };
  });
}
