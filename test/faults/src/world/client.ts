import { randomUUID } from 'node:crypto';
import type { CallRecord, WireError, WireEvent, WireTask } from '../history/history.js';
import { post, readJson } from './http.js';
import { nowMs } from './now.js';
import type { Recorder } from './recorder.js';
import { openStream, type Stream } from './stream.js';
import { wireError, type RpcError } from './wire-error.js';

/** What a message is made of. */
export interface Say {
  readonly text: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly messageId?: string;
  /** The address of a webhook for the task. */
  readonly webhook?: string;
  /** Answer at once instead of at the end of the turn. */
  readonly returnImmediately?: boolean;
}

/** What a call was answered. */
export interface Answer {
  readonly task?: WireTask;
  readonly error?: WireError;
  /** No answer came. */
  readonly broken?: string;
}

/** Where and as whom a client speaks. */
export interface ClientOptions {
  readonly base: string;
  readonly replica: string;
  readonly owner: string;
  readonly token: string | undefined;
  readonly recorder: Recorder;
}

interface Call {
  readonly method: string;
  readonly params: unknown;
  readonly taskId?: string | undefined;
  readonly messageId?: string;
  readonly must?: CallRecord['must'];
}

/** An A2A client of one replica over JSON-RPC that writes down everything it is told. */
export class Client {
  constructor(private readonly options: ClientOptions) {}

  send(say: Say): Promise<Answer> {
    const messageId = say.messageId ?? randomUUID();
    const params = messageParams({ ...say, messageId });
    return this.call({ method: 'SendMessage', params, taskId: say.taskId, messageId });
  }

  stream(say: Say): Stream {
    const messageId = say.messageId ?? randomUUID();
    const params = messageParams({ ...say, messageId });
    return this.open({ method: 'SendStreamingMessage', params, taskId: say.taskId ?? null, messageId });
  }

  subscribe(taskId: string): Stream {
    return this.open({ method: 'SubscribeToTask', params: { id: taskId }, taskId, messageId: null });
  }

  get(taskId: string, must: CallRecord['must'] = null): Promise<Answer> {
    return this.call({ method: 'GetTask', params: { id: taskId }, taskId, must });
  }

  cancel(taskId: string, must: CallRecord['must'] = null): Promise<Answer> {
    return this.call({ method: 'CancelTask', params: { id: taskId }, taskId, must });
  }

  /** One call that is answered once. Never rejects. */
  async call(call: Call): Promise<Answer> {
    const { base, replica, owner, token, recorder } = this.options;
    const sentAtMs = nowMs();
    const body = { jsonrpc: '2.0', id: randomUUID(), method: call.method, params: call.params };
    const answer = await post({ url: `${base}/a2a/jsonrpc`, token, body, shared: true })
      .then(readJson)
      .then(answerOf, (error: unknown): Answer => ({ broken: String(error) }));
    recorder.calls.push({
      method: call.method,
      replica,
      owner,
      taskId: call.taskId ?? answer.task?.id ?? null,
      messageId: call.messageId ?? null,
      sentAtMs,
      answeredAtMs: answer.broken === undefined ? nowMs() : null,
      error: answer.error ?? null,
      state: answer.task?.status.state ?? null,
      must: call.must ?? null,
    });
    return answer;
  }

  private open(stream: {
    readonly method: 'SendStreamingMessage' | 'SubscribeToTask';
    readonly params: unknown;
    readonly taskId: string | null;
    readonly messageId: string | null;
  }): Stream {
    const { base, replica, owner, token, recorder } = this.options;
    return openStream({ ...stream, url: `${base}/a2a/jsonrpc`, token, replica, owner, recorder });
  }
}

/** The params of a message. */
function messageParams(say: Say & { readonly messageId: string }): Record<string, unknown> {
  const { text, taskId, contextId, messageId, webhook, returnImmediately } = say;
  return {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(taskId ? { taskId } : {}),
      ...(contextId ? { contextId } : {}),
    },
    configuration: {
      ...(webhook === undefined ? {} : { taskPushNotificationConfig: { url: webhook } }),
      ...(returnImmediately === undefined ? {} : { returnImmediately }),
    },
  };
}

/** What a JSON-RPC answer says. */
function answerOf(json: unknown): Answer {
  const { result, error } = json as { readonly result?: unknown; readonly error?: RpcError };
  if (error) return { error: wireError(error) };
  const task = ((result as WireEvent | undefined)?.task ?? result) as WireTask | undefined;
  return task?.status === undefined ? {} : { task };
}
