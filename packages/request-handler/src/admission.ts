import type { AgentCard, Message, SendMessageRequest } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError, ExtensionSupportRequiredError } from '@a2a-js/sdk/errors';
import type { ServerCallContext } from '@a2a-js/sdk/server';
import { isStorableKey, isStorableName, type Scope } from '@a2a-cluster/core';
import { malformed, taskNotFound } from './refusals.js';

/** How many other tasks a message may refer to. */
const MOST_REFERENCES = 100;

/** What is asked of a message before anything is read or written. */
export interface AdmissionRules {
  readonly card: AgentCard;
  /** Whether parts must be of the card's input modes; the SDK's handler has the same option. */
  readonly validateInputModes: boolean;
}

/**
 * Checks a request in the order of the SDK's handler.
 * @throws A2AError: malformed, content type not supported, extension required, or task not found.
 */
export function checkMessage(
  request: SendMessageRequest,
  context: ServerCallContext,
  rules: AdmissionRules,
): Message {
  const { message } = request;
  if (!message?.messageId) throw malformed('message.messageId is required.');
  if (!isStorableKey(message.messageId))
    throw malformed('message.messageId is too long or has characters that cannot be stored.');
  checkInputModes(message, rules);
  checkExtensions(rules.card, context);
  if (message.taskId) checkTaskId(message.taskId);
  if (message.contextId && !isStorableKey(message.contextId)) {
    throw malformed('message.contextId is too long or has characters that cannot be stored.');
  }
  // Each is a read of its own, before the turn.
  if ((message.referenceTaskIds?.length ?? 0) > MOST_REFERENCES)
    throw malformed(`message.referenceTaskIds may name ${MOST_REFERENCES} tasks.`);
  return message;
}

/**
 * A blank id is malformed; one that no row can have is not found (protocol 1).
 * @throws A2AError
 */
export function checkTaskId(taskId: string): void {
  if (taskId.trim() === '') throw malformed('Task ID is required');
  if (!isStorableKey(taskId)) throw taskNotFound(taskId);
}

/**
 * A principal or tenant that the databases would confuse with another is refused (protocol 1).
 * @throws A2AError
 */
export function checkScope(scope: Scope): Scope {
  if (isStorableName(scope.tenant) && isStorableName(scope.owner)) return scope;
  throw malformed(
    'The tenant or the user name is too long, ends in a space or has characters that cannot be stored.',
  );
}

/** Leaves only the requested extensions that the card declares, as the SDK's handler does. */
export function filterExtensions(card: AgentCard, context: ServerCallContext): void {
  if (!context.requestedExtensions) return;
  const declared = new Set((card.capabilities?.extensions ?? []).map((extension) => extension.uri));
  context.setRequestedExtensions(context.requestedExtensions.filter((uri) => declared.has(uri)));
}

function checkInputModes(message: Message, rules: AdmissionRules): void {
  const supported = rules.card.defaultInputModes;
  if (!rules.validateInputModes || supported.length === 0) return;
  for (const part of message.parts) {
    if (!part.mediaType || supported.includes(part.mediaType)) continue;
    throw new ContentTypeNotSupportedError(
      `Media type '${part.mediaType}' is not supported. Supported media types: ${supported.join(', ')}.`,
    );
  }
}

function checkExtensions(card: AgentCard, context: ServerCallContext): void {
  const requested = new Set(context.requestedExtensions ?? []);
  const missing = (card.capabilities?.extensions ?? [])
    .filter((extension) => extension.required && !requested.has(extension.uri))
    .map((extension) => extension.uri);
  if (missing.length === 0) return;
  throw new ExtensionSupportRequiredError(
    `Client must declare support for required extensions: ${missing.join(', ')}`,
  );
}
