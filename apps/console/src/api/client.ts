import type { ActionOutcome, EventPage, TaskDetail, TaskPage } from './index.js';
import { tokenHeaders, tokenRefused } from '../state/session.js';
import { searchOf, type TaskFilter } from '../state/task-filter.js';
import { objectOf, textOf } from '../text/parts.js';

/** Where the API is, on whichever replica the load balancer chooses. */
export const API = '/console/api';

/** How many rows a page of the list has: few enough to fit their ids into the URL of the live stream. */
export const PAGE_SIZE = 50;

/** How many events are read at once. */
export const EVENT_PAGE_SIZE = 200;

/** A request that was not answered with what was asked for. The message is for people. */
export class ApiFailure extends Error {
  constructor(
    /** The status of HTTP; 0: there was no answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The failure that an answer tells; one for people, also where the answer is no JSON. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  if (response.status === 401) tokenRefused();
  const body = objectOf(await response.json().catch(() => null));
  const said = textOf(objectOf(body['error'])['message']);
  return new ApiFailure(response.status, said || `The replica answered ${response.status}.`);
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`${API}/${path}`, {
      ...init,
      cache: 'no-store',
      credentials: 'omit',
      headers: { ...tokenHeaders(), ...(init.body ? { 'content-type': 'application/json' } : {}) },
    });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiFailure(0, 'No replica answers. Check the network and the load balancer.');
  }
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as T;
}

/** A page of the list. */
export function readTasks(filter: TaskFilter, cursor: string | null, signal: AbortSignal): Promise<TaskPage> {
  const search = searchOf(filter, cursor);
  return ask(`tasks${search === '' ? '?' : `${search}&`}limit=${PAGE_SIZE}`, { signal });
}

/** A task. */
export function readTask(taskId: string, signal: AbortSignal): Promise<TaskDetail> {
  return ask(`tasks/${encodeURIComponent(taskId)}`, { signal });
}

/** Events of a task after a seq; at most {@link EVENT_PAGE_SIZE}. */
export function readEvents(
  taskId: string,
  range: { readonly after: number; readonly limit?: number },
  signal: AbortSignal,
): Promise<EventPage> {
  const { after, limit = EVENT_PAGE_SIZE } = range;
  return ask(`tasks/${encodeURIComponent(taskId)}/events?after=${after}&limit=${limit}`, { signal });
}

/** Does something. */
export function act(path: string, body?: object): Promise<ActionOutcome> {
  return ask(path, { method: 'POST', ...(body ? { body: JSON.stringify(body) } : {}) });
}
