import type { FaultKind, PushRecord, Tables } from '../../history/history.js';
import { GONE, isAccepted, isRefused } from '../../checker/push-hook.js';
import type { World } from '../../world/world.js';
import { kindOf, RETRY_AFTER_S, type PushedTask } from './push-sinks.js';

/** The first pause lies between a half and a whole of this, the next between a half and a whole of its double. */
const FIRST_RETRY_MS = 1_000;
/** How far two moments of the harness may be off, for timers that fire early and answers that travel. */
const SLACK_MS = 50;
/** A sender that was hurt so shortly after an answer may not have stored what it asked for. */
const STORED_MS = 500;

const HURTS: readonly FaultKind[] = ['kill', 'stop', 'terminate'];

/** What was done to senders, as moments: who was told what about then may not have stored it. */
function hurtsOf({ recorder }: World): readonly number[] {
  return recorder.faults
    .filter(({ kind }) => HURTS.includes(kind))
    .flatMap(({ fromMs, toMs }) => (toMs === null ? [fromMs] : [fromMs, toMs]));
}

/** The attempts of each event for each webhook, as they came. */
function attemptsOf({ recorder }: World): readonly (readonly PushRecord[])[] {
  const groups = new Map<string, PushRecord[]>();
  for (const push of recorder.pushes) {
    const group = groups.get(push.id ?? '');
    if (group) group.push(push);
    else groups.set(push.id ?? '', [push]);
  }
  return [...groups.values()];
}

/** The pauses between attempts grow as they should, and are never shorter than the webhook asked for. */
export function expectPauses(world: World): void {
  const hurts = hurtsOf(world);
  const { pushTimeoutMs } = world.settings;
  const isCalm = (push: PushRecord): boolean => {
    const endMs = push.answer === 'hang' ? push.atMs + pushTimeoutMs : (push.answeredAtMs ?? push.atMs);
    return hurts.every((atMs) => atMs < push.atMs - SLACK_MS || atMs > endMs + STORED_MS);
  };
  const seen = { grown: 0, asked: 0 };
  for (const attempts of attemptsOf(world)) {
    for (const [index, push] of attempts.entries()) {
      const next = attempts[index + 1];
      // An attempt that its sender gave up to close counts for nothing.
      if (next === undefined || isAccepted(push) || push.answer === 'gone') break;
      if (!attempts.slice(0, index + 2).every(isCalm)) break;
      const leastMs = leastPauseMs(push, index + 1);
      const pauseMs = next.atMs - (push.answeredAtMs ?? push.atMs);
      if (push.answer === 429) seen.asked += 1;
      else if (index > 0) seen.grown += 1;
      const told = `${push.hook} was tried again after ${Math.round(pauseMs)} ms, less than ${leastMs}`;
      world.expect(
        pauseMs >= leastMs - SLACK_MS,
        `${told}: ${push.id}, attempt ${index + 1} answered ${push.answer}`,
        push.taskId,
      );
    }
  }
  world.figure('pauses that grew', seen.grown);
  world.figure('Retry-After kept', seen.asked);
  world.expect(seen.grown > 0 && seen.asked > 0, `nothing to judge pauses by: ${JSON.stringify(seen)}`);
}

function leastPauseMs({ answer }: PushRecord, failures: number): number {
  const backoffMs = (FIRST_RETRY_MS / 2) * 2 ** (failures - 1);
  return answer === 429 ? Math.max(backoffMs, RETRY_AFTER_S * 1_000) : backoffMs;
}

/** 410 disables, 400 makes a dead letter of that event alone; nothing else does. */
export function expectEnds(world: World, { pushConfigs, deadLetters }: Tables): void {
  let disabled = 0;
  for (const { taskId, url, status } of pushConfigs) {
    const hook = new URL(url).pathname.slice(1);
    const pushes = world.recorder.pushes.filter((push) => push.hook === hook);
    const isGone = pushes.some(({ answer }) => answer === GONE);
    if (isGone) disabled += 1;
    const expected = isGone ? 'disabled' : 'done';
    world.expect(
      status === expected || (!isGone && status === 'active'),
      `webhook ${hook} is ${status}, not ${expected}`,
      taskId,
    );
  }
  const refused = world.recorder.pushes.filter(isRefused);
  const letters = new Set(deadLetters.map(({ taskId, seq, configId }) => `${taskId}:${seq}:${configId}`));
  for (const { id, taskId, hook } of refused) {
    const accepted = world.recorder.pushes.some((push) => push.id === id && isAccepted(push));
    world.expect(letters.has(id ?? '') || accepted, `what ${hook} refused, ${id}, is no dead letter`, taskId);
  }
  world.expect(letters.size > 0, 'nothing became a dead letter');
  world.expect(disabled > 0, 'no webhook was disabled');
  world.figure('disabled', disabled);
}

/** Between the commit of an event and its first delivery to a healthy webhook, in milliseconds. */
export function healthyLagsMs(
  world: World,
  { tables, tasks }: { readonly tables: Tables; readonly tasks: readonly PushedTask[] },
): number[] {
  const own = new Set(tasks.map(({ taskId }) => taskId));
  const storedAt = new Map(
    tables.events.map(({ taskId, seq, createdAtMs }) => [`${taskId}:${seq}`, createdAtMs]),
  );
  const seen = new Set<string>();
  return world.recorder.pushes.flatMap(({ hook, id, taskId, atMs }) => {
    if (!own.has(taskId) || kindOf(hook) !== 'healthy' || id === null || seen.has(id)) return [];
    seen.add(id);
    const storedAtMs = storedAt.get(id.split(':').slice(0, 2).join(':'));
    return storedAtMs === undefined ? [] : [atMs - storedAtMs];
  });
}
