import { A2AError } from '@a2a-js/sdk/errors';
import { stateName } from '@a2a-cluster/core';
import { untilReady } from './crash.js';
import { connectTo, textMessage, type ReplicaClient } from './replica-client.js';
import { createStepRunner, expectThat, type StepResult, type StepRunner } from './steps.js';
import { watch } from './watcher.js';

/** What {@link runExercise} is told. */
export interface ExerciseOptions {
  /** Addresses of the replicas, one or more; the steps go round them. */
  readonly urls: readonly string[];
  readonly token?: string;
  readonly report: (result: StepResult) => void;
}

/** How the exercise went. */
export interface ExerciseResult {
  readonly ok: boolean;
  readonly steps: readonly StepResult[];
}

/**
 * One task on several replicas: started on one, watched on another, cancelled on a third; and a second one that asks
 * on one and is answered on another. Never rejects.
 */
export async function runExercise(options: ExerciseOptions): Promise<ExerciseResult> {
  const { urls, token, report } = options;
  const runner = createStepRunner(report);
  try {
    const all = await runner.run('replicas ready', async () => {
      const seen = await Promise.all(
        urls.map((url) => connectTo({ url, ...(token === undefined ? {} : { token }) })),
      );
      await Promise.all(seen.map(untilReady));
      return { seen, detail: urls.join(', ') };
    });
    const nth = (index: number): ReplicaClient => all[index % all.length] as ReplicaClient;
    await cancelElsewhere(runner, nth);
    await answerElsewhere(runner, nth);
  } catch {
    // The step that failed has said so.
  }
  return { ok: runner.results.every(({ ok }) => ok), steps: runner.results };
}

type Nth = (index: number) => ReplicaClient;

async function cancelElsewhere(runner: StepRunner, nth: Nth): Promise<void> {
  const taskId = await runner.run('start', async () => {
    const stream = watch(nth(0).client.sendMessageStream(textMessage('tick 6000 100')));
    const { taskId: seen } = await stream.first((sight) => sight.state === 'TASK_STATE_WORKING');
    return { seen, detail: `${seen} is WORKING on ${nth(0).url}` };
  });
  const watcher = await runner.run('watch', async () => {
    const seen = watch(nth(1).client.resubscribeTask({ id: taskId, tenant: '' }));
    const { text } = await seen.first((sight) => sight.text.startsWith('tick'));
    return { seen, detail: `${nth(1).url} streams it: ${text}` };
  });
  await runner.run('cancel', async () => {
    const task = await nth(2).client.cancelTask({ id: taskId, tenant: '', metadata: undefined });
    const state = stateName(task.status?.state);
    expectThat(state === 'TASK_STATE_CANCELED', `${nth(2).url} answers ${state}`);
    return { seen: undefined, detail: `${nth(2).url} answers ${state}` };
  });
  await runner.run('the watcher sees it', async () => {
    const { state } = await watcher.first((sight) => sight.state === 'TASK_STATE_CANCELED');
    await watcher.ended;
    return { seen: undefined, detail: `${state}, and the stream ended after ${watcher.count} events` };
  });
  await runner.run('follow-up on the ended task', async () => {
    const error: unknown = await nth(1)
      .client.sendMessage(textMessage('done', taskId))
      .catch((caught: unknown) => caught);
    expectThat(error instanceof A2AError, 'it was answered');
    return { seen: undefined, detail: `${nth(1).url} refuses: ${error.message}` };
  });
}

async function answerElsewhere(runner: StepRunner, nth: Nth): Promise<void> {
  const taskId = await runner.run('ask', async () => {
    const stream = watch(nth(0).client.sendMessageStream(textMessage('ask Which one?')));
    const { taskId: seen, text } = await stream.first((sight) => sight.state === 'TASK_STATE_INPUT_REQUIRED');
    await stream.ended;
    return { seen, detail: `${seen} on ${nth(0).url} asks: ${text}` };
  });
  await runner.run('answer', async () => {
    const result = await nth(1).client.sendMessage(textMessage('tick 2 50; done That one.', taskId));
    const state = 'status' in result ? stateName(result.status?.state) : 'a message';
    expectThat(state === 'TASK_STATE_COMPLETED', `${nth(1).url} answers ${state}`);
    return { seen: undefined, detail: `${nth(1).url} answers ${state}` };
  });
  await runner.run('read', async () => {
    const task = await nth(2).client.getTask({ id: taskId, tenant: '', historyLength: undefined });
    const state = stateName(task.status?.state);
    expectThat(state === 'TASK_STATE_COMPLETED', `${nth(2).url} says ${state}`);
    return { seen: undefined, detail: `${nth(2).url} says ${state}, with ${task.history.length} messages` };
  });
}
