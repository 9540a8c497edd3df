import type { SendMessageRequest } from '@a2a-js/sdk';
import { isDeeperThan } from '@a2a-cluster/core';
import type { ResolvedHandlerOptions } from './options.js';
import { malformed, overLimit } from './refusals.js';

type DepthLimit = Pick<ResolvedHandlerOptions, 'maxMetadataDepth'>;

/**
 * Refuses a message with more parts, or with metadata or data nested deeper, than this cluster takes.
 * @throws A2AError with reason `TOO_MANY_PARTS` or `NESTED_TOO_DEEP`, or malformed.
 */
export function checkLimits(
  request: SendMessageRequest,
  limits: DepthLimit & Pick<ResolvedHandlerOptions, 'maxMessageParts'>,
): void {
  const { message, configuration } = request;
  const parts = message?.parts ?? [];
  const { maxMessageParts: limit } = limits;
  if (parts.length > limit) {
    const text = `The message has ${parts.length} parts, the most are ${limit}.`;
    throw overLimit({ reason: 'TOO_MANY_PARTS', limit, message: text });
  }
  checkDepth('metadata', request.metadata, limits);
  checkDepth('message.metadata', message?.metadata, limits);
  for (const { content, metadata } of parts) {
    checkDepth('the metadata of a part', metadata, limits);
    if (content?.$case === 'data') checkDepth('the data of a part', content.value, limits);
  }
  const { historyLength } = configuration ?? {};
  if (historyLength !== undefined && !Number.isInteger(historyLength))
    throw malformed('historyLength must be a whole number.');
}

/** @throws A2AError with reason `NESTED_TOO_DEEP`. */
export function checkDepth(what: string, value: unknown, limits: DepthLimit): void {
  const { maxMetadataDepth: limit } = limits;
  if (!isDeeperThan(value, limit)) return;
  const message = `The JSON of ${what} is nested deeper than ${limit} levels.`;
  throw overLimit({ reason: 'NESTED_TOO_DEEP', limit, message });
}
