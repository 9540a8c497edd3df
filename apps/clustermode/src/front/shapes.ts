import { z } from 'zod';
import {
  base64,
  count,
  enumName,
  exactlyOne,
  flag,
  headerText,
  key,
  name,
  proto,
  struct,
  taskId,
  text,
  texts,
  url,
  webhookUrl,
} from './fields.js';

/** A check of parameters. */
export type Shape = z.ZodType;

const part = proto({
  text,
  raw: base64.optional(),
  url: url.optional(),
  data: z.unknown(),
  metadata: struct,
  filename: text,
  mediaType: text,
}).refine(...exactlyOne(['text', 'raw', 'url', 'data']));

const role = z.enum(['ROLE_USER', 'ROLE_AGENT']).or(z.literal([1, 2]));

const message = proto({
  messageId: key,
  contextId: name,
  taskId,
  role: z.unknown().refine((value) => role.safeParse(value).success, 'must be ROLE_USER or ROLE_AGENT'),
  parts: z.array(part, 'is required and must be an array').min(1, 'must not be empty'),
  metadata: struct,
  extensions: texts,
  referenceTaskIds: texts,
});

const pushConfig = proto({
  tenant: name,
  id: name,
  taskId,
  url: webhookUrl,
  token: headerText,
  authentication: proto({ scheme: headerText, credentials: headerText }).optional(),
});

const configuration = proto({
  acceptedOutputModes: texts,
  taskPushNotificationConfig: pushConfig.optional(),
  historyLength: count,
  returnImmediately: flag,
});

/** `SendMessageRequest`, of JSON-RPC and REST. */
export const sendMessage: Shape = proto({
  tenant: name,
  message,
  configuration: configuration.optional(),
  metadata: struct,
});

/** The body of what takes none: one that comes all the same is an object, into which the SDK writes the tenant. */
export const noFields: Shape = proto({});

/** `TaskPushNotificationConfig` as a request to create one. */
export const createPushConfig: Shape = pushConfig;

const onePushConfig = proto({ tenant: name, taskId, id: name });
const oneTask = proto({ tenant: name, id: taskId, historyLength: count, metadata: struct });

/** The parameters of every JSON-RPC method of A2A 1.0. */
export const rpcShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['SendMessage', sendMessage],
  ['SendStreamingMessage', sendMessage],
  ['GetTask', oneTask],
  ['CancelTask', oneTask],
  ['SubscribeToTask', oneTask],
  [
    'ListTasks',
    proto({
      tenant: name,
      contextId: name,
      status: enumName,
      pageSize: count,
      pageToken: text,
      historyLength: count,
      statusTimestampAfter: text,
      includeArtifacts: flag,
    }),
  ],
  ['CreateTaskPushNotificationConfig', createPushConfig],
  ['GetTaskPushNotificationConfig', onePushConfig],
  ['DeleteTaskPushNotificationConfig', onePushConfig],
  ['ListTaskPushNotificationConfigs', proto({ tenant: name, taskId, pageSize: count, pageToken: text })],
]);
