import { z } from 'zod';
import {
  base64,
  count,
  exactlyOne,
  flag,
  headerText,
  key,
  name,
  neededTaskId,
  proto,
  struct,
  taskId,
  text,
  texts,
  url,
  webhookUrl,
} from './fields.js';
import type { Shape } from './shapes.js';

const pushConfig = proto({
  id: name,
  url: webhookUrl,
  token: headerText,
  authentication: proto({ schemes: texts, credentials: headerText }).optional(),
});

const configuration = proto({
  acceptedOutputModes: texts,
  historyLength: count,
  blocking: flag,
  pushNotificationConfig: pushConfig.optional(),
  pushNotification: pushConfig.optional(),
});

const file = proto({ bytes: base64.optional(), uri: url.optional(), mimeType: text, name: text });

const part = z.union(
  [
    proto({ kind: z.literal('text'), text: z.string(), metadata: struct }),
    proto({
      kind: z.literal('file'),
      file: file.refine(...exactlyOne(['bytes', 'uri'])),
      metadata: struct,
    }),
    proto({ kind: z.literal('data'), data: z.record(z.string(), z.unknown()), metadata: struct }),
  ],
  'must be a text, file or data part',
);

const message = proto({
  messageId: key,
  contextId: name,
  taskId,
  role: z.enum(['user', 'agent'], 'must be user or agent'),
  parts: z.array(part, 'is required and must be an array').min(1, 'must not be empty'),
  metadata: struct,
  extensions: texts,
  referenceTaskIds: texts,
});

const sendMessage = proto({ message, configuration: configuration.optional(), metadata: struct });
const oneTask = proto({
  id: neededTaskId,
  historyLength: count,
  pushNotificationConfigId: name,
  metadata: struct,
});

/** The parameters of every JSON-RPC method of A2A 0.3. */
export const legacyRpcShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['message/send', sendMessage],
  ['message/stream', sendMessage],
  ['tasks/get', oneTask],
  ['tasks/cancel', oneTask],
  ['tasks/resubscribe', oneTask],
  ['tasks/pushNotificationConfig/set', proto({ taskId: neededTaskId, pushNotificationConfig: pushConfig })],
  ['tasks/pushNotificationConfig/get', oneTask],
  ['tasks/pushNotificationConfig/list', oneTask],
  ['tasks/pushNotificationConfig/delete', oneTask],
]);

const restFile = proto({ fileWithUri: url.optional(), fileWithBytes: base64.optional(), mimeType: text });

const restPart = proto({
  text,
  file: restFile.refine(...exactlyOne(['fileWithUri', 'fileWithBytes'])).optional(),
  data: proto({ data: struct }).optional(),
}).refine(...exactlyOne(['text', 'file', 'data']));

const restMessage = proto({
  messageId: key,
  contextId: name,
  taskId,
  role: z.enum(['ROLE_USER', 'ROLE_AGENT'], 'must be ROLE_USER or ROLE_AGENT').or(z.literal([1, 2])),
  content: z.array(restPart, 'is required and must be an array').min(1, 'must not be empty'),
  metadata: struct,
  extensions: texts,
});

/** The body of `message:send` and `message:stream` over REST in A2A 0.3, which calls the message either name. */
export const legacyRestSendMessage: Shape = proto({
  message: restMessage.optional(),
  request: restMessage.optional(),
  configuration: configuration.optional(),
  metadata: struct,
}).refine(...exactlyOne(['message', 'request']));

/** The body that registers a webhook over REST in A2A 0.3. */
export const legacyRestPushConfig: Shape = proto({ name: text, pushNotificationConfig: pushConfig });
