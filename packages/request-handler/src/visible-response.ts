import type { StreamResponse } from '@a2a-js/sdk';
import { toStreamResponse } from '@a2a-cluster/core';
import type { Followed } from './follow-turn.js';
import { withHistoryLength } from './history-length.js';

/** What a client is sent for what it follows; the history length is that of its request. */
export function toClientResponse(followed: Followed, historyLength: number | undefined): StreamResponse {
  if (followed.type === 'message') return { payload: { $case: 'message', value: followed.message } };
  const { event } = followed;
  if (event.kind !== 'task') return toStreamResponse(event);
  return toStreamResponse({ kind: 'task', data: withHistoryLength(event.data, historyLength) });
}
