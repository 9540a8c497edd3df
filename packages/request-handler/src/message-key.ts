import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Part, Role, type Message, type Task } from '@a2a-js/sdk';

/**
 * The key of a message whose `messageId` an earlier message of its task already has. It is made of what the message
 * says, so that sending the same one again finds it again.
 */
export function contentKey(message: Message): string {
  const said = JSON.stringify([message.messageId, partsOf(message)]);
  return `content:${createHash('sha256').update(said).digest('base64url')}`;
}

/**
 * Whether the task's first message of this id says something else than this one. False where the history no longer
 * has it: then the id alone counts.
 */
export function isOtherMessage(task: Task, message: Message): boolean {
  const first = task.history.find(
    (other) => other.messageId === message.messageId && other.role === Role.ROLE_USER,
  );
  return first !== undefined && !isDeepStrictEqual(partsOf(first), partsOf(message));
}

function partsOf(message: Message): unknown {
  return message.parts.map((part) => Part.toJSON(part));
}
