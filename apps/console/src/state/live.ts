import { createEventSource, type EventSourceClient } from 'eventsource-client';
import { effect, signal } from '@preact/signals';
import { API, failureOf } from '../api/client.js';
import type { Overview, TaskChange } from '../api/index.js';
import { backoffMs } from './backoff.js';
import { localNow, noteServerTime } from './clock.js';
import { sessionNumber, tokenHeaders, tokenWanted } from './session.js';

/** How the page and the replica stand. */
export interface Connection {
  /** `paused`: nobody looks at this tab, so it holds no connection. */
  readonly status: 'connecting' | 'live' | 'reconnecting' | 'paused';
  /** When something last came, by this machine; null: never. */
  readonly heardAtMs: number | null;
  /** Why it is not live, for people. */
  readonly reason: string | null;
}

/** The newest state of the cluster; null: none came yet. */
export const overview = signal<Overview | null>(null);

/** How the page and the replica stand. */
export const connection = signal<Connection>({ status: 'connecting', heardAtMs: null, reason: null });

/** Without a byte for so long the connection is taken for dead: replicas send a comment at least every 15 s. */
const SILENCE_MS = 45_000;
/** A tab nobody looks at lets go after so long: browsers open few connections to one server. */
const HIDDEN_MS = 20_000;

const watched = signal<readonly string[]>([]);
const listeners = new Set<(change: TaskChange) => void>();
let source: EventSourceClient | null = null;
let retry: ReturnType<typeof setTimeout> | undefined;
let silence: ReturnType<typeof setTimeout> | undefined;
let attempts = 0;

/** Asks to be told of changes of these tasks, in place of those before; the page has one stream for all. */
export function watchTasks(taskIds: readonly string[]): void {
  if (taskIds.join(' ') !== watched.peek().join(' ')) watched.value = taskIds;
}

/** Calls back at each change of a watched task, until the returned function is called. */
export function onTaskChange(listener: (change: TaskChange) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Grows whenever the stream is there again, so that what changed meanwhile is read anew. */
export const resumed = signal(0);

/** Opens the stream and keeps it open. */
export function startLive(): void {
  effect(() => {
    // A new token or other tasks need a new stream.
    void sessionNumber.value;
    open(watched.value);
  });
  let hidden: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(pause, HIDDEN_MS);
    else if (connection.peek().status !== 'live') reconnectNow();
  });
  window.addEventListener('online', reconnectNow);
}

/** Tries again at once. */
export function reconnectNow(): void {
  attempts = 0;
  open(watched.peek());
}

function pause(): void {
  close();
  set({ status: 'paused', reason: null });
}

function close(): void {
  clearTimeout(retry);
  clearTimeout(silence);
  source?.close();
  source = null;
}

function set(change: Partial<Connection>): void {
  connection.value = { ...connection.peek(), ...change };
}

function open(taskIds: readonly string[]): void {
  close();
  if (document.hidden && connection.peek().status === 'paused') return;
  const query = taskIds.map((id) => `task=${encodeURIComponent(id)}`).join('&');
  const opened = createEventSource({
    url: new URL(`${API}/live${query === '' ? '' : `?${query}`}`, location.href),
    headers: tokenHeaders(),
    credentials: 'omit',
    fetch: async (url, init) => {
      const response = await fetch(url, init as RequestInit);
      if (response.ok) return response;
      const { message } = await failureOf(response);
      set({ reason: message });
      throw new Error(message);
    },
    onConnect: () => heard(opened),
    onComment: () => heard(opened),
    onMessage: ({ event, data }) => {
      heard(opened);
      take(event, data);
    },
    onScheduleReconnect: () => lost(opened),
  });
  source = opened;
  listenFor(opened);
}

function heard(from: EventSourceClient): void {
  if (from !== source) return;
  listenFor(from);
  if (connection.peek().status === 'reconnecting') resumed.value += 1;
  attempts = 0;
  set({ status: 'live', heardAtMs: localNow(), reason: null });
}

function listenFor(from: EventSourceClient): void {
  clearTimeout(silence);
  silence = setTimeout(() => lost(from), SILENCE_MS);
}

function lost(from: EventSourceClient): void {
  if (from !== source) return;
  close();
  if (tokenWanted.peek() !== null) return;
  attempts += 1;
  set({ status: connection.peek().heardAtMs === null ? 'connecting' : 'reconnecting' });
  retry = setTimeout(() => open(watched.peek()), backoffMs(attempts, Math.random()));
}

function take(event: string | undefined, data: string): void {
  if (event === 'overview') {
    const next = JSON.parse(data) as Overview;
    noteServerTime(next.atMs);
    overview.value = next;
  }
  if (event !== 'task') return;
  const change = JSON.parse(data) as TaskChange;
  for (const listener of listeners) listener(change);
}
