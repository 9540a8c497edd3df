import { randomUUID } from 'node:crypto';
import type { Replica } from '../../world/replica.js';
import type { Answering, Reply, Sink } from '../../world/sink.js';
import type { Stream } from '../../world/stream.js';
import type { World } from '../../world/world.js';

/** What a webhook does; each kind has an origin of its own. */
export const KINDS = [
  'healthy',
  'slow',
  'failing',
  'limited',
  'gone',
  'refusing',
  'hanging',
  'resetting',
] as const;

/** One of them. */
export type Kind = (typeof KINDS)[number];

/** What `limited` asks for. */
export const RETRY_AFTER_S = 2;

const FINE: Reply = { status: 200 };
/** Below the time limit of an attempt. */
const SLOW_MS = 60;
/** How often those fail that are well afterwards. */
const FAILURES = 2;

const ANSWERS: Readonly<Record<Exclude<Kind, 'hanging'>, Answering>> = {
  healthy: () => FINE,
  slow: () => ({ status: 200, afterMs: SLOW_MS }),
  failing: (_push, nth) => (nth <= FAILURES ? { status: 500 } : FINE),
  limited: (_push, nth) => (nth === 1 ? { status: 429, retryAfter: String(RETRY_AFTER_S) } : FINE),
  gone: (_push, nth) => (nth <= 2 ? FINE : { status: 410 }),
  refusing: (_push, nth) => (nth === 2 ? { status: 400 } : FINE),
  resetting: (_push, nth) => (nth <= FAILURES ? 'reset' : FINE),
};

/** The webhooks of every kind. */
export interface Sinks {
  readonly of: Readonly<Record<Kind, Sink>>;
  /** Those that hang answer from now on. */
  recover(): void;
}

/** Starts them. */
export async function openSinks(world: World): Promise<Sinks> {
  let well = false;
  const hanging: Answering = () => (well ? FINE : 'hang');
  const open = async (kind: Kind): Promise<[Kind, Sink]> => [
    kind,
    await world.openSink(kind === 'hanging' ? hanging : ANSWERS[kind]),
  ];
  const opened = await Promise.all(KINDS.map(open));
  return { of: Object.fromEntries(opened) as Record<Kind, Sink>, recover: () => void (well = true) };
}

/** The kind of a hook by its name. */
export function kindOf(hook: string): string {
  return hook.split('-')[0] ?? '';
}

/** A task with webhooks. */
export interface PushedTask {
  readonly taskId: string;
  readonly holder: Replica;
  readonly caller: Stream;
}

/** What {@link startPushed} starts. */
export interface Pushing {
  readonly holder: Replica;
  /** Begins with a wait, during which its webhooks are registered. */
  readonly script: string;
  readonly kinds: readonly Kind[];
}

/** Starts a task and registers a webhook of each of the kinds; null when its turn never began. */
export async function startPushed(
  sinks: Sinks,
  { holder, script, kinds }: Pushing,
): Promise<PushedTask | null> {
  const caller = holder.as().stream({ text: script });
  const taskId = await caller.taskId();
  if (taskId === undefined) return null;
  const register = (kind: Kind): Promise<unknown> => {
    const url = sinks.of[kind].url(`${kind}-${randomUUID()}`);
    return holder.as().call({ method: 'CreateTaskPushNotificationConfig', params: { taskId, url }, taskId });
  };
  await Promise.all(kinds.map(register));
  return { taskId, holder, caller };
}
