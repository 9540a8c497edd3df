import type { ServerCallContext } from '@a2a-js/sdk/server';
import { notesOfCall } from './request-notes.js';

/** Notes which task a call is about. */
export function noteCall(params: object, context: ServerCallContext): void {
  const { taskId, id, message } = params as {
    readonly taskId?: unknown;
    readonly id?: unknown;
    readonly message?: { readonly taskId?: unknown };
  };
  // Calls about push configs have the id of the config beside that of the task; those about tasks have one id.
  const found = [taskId, message?.taskId, id].find((text) => typeof text === 'string' && text !== '');
  if (typeof found === 'string') notesOfCall(context).taskId = found;
}
