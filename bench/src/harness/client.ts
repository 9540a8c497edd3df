import { randomUUID } from 'node:crypto';
import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Script } from '../servers/agent.js';

/** What a streaming call is told. */
export interface StreamOptions {
  readonly port: number;
  /** Hears of every frame, whole, without its blank line. */
  readonly onFrame?: (frame: string) => void;
}

/** A stream that is open. */
export interface OpenStream {
  /** Resolves with how many frames came, when the server has ended the stream. Rejects when it broke. */
  readonly ended: Promise<number>;
  /** Goes away. */
  close(): void;
  /** Reads nothing until {@link OpenStream.resume}. */
  pause(): void;
  resume(): void;
}

const connections = new Agent({ keepAlive: true, maxSockets: Infinity });
const FRAME_END = '\n\n';

/** Sends a script as a message and streams its turn. */
export function streamTurn(
  options: StreamOptions & { readonly script: Script; readonly taskId?: string },
): OpenStream {
  return openStream(options, 'SendStreamingMessage', paramsOf(options.script, options.taskId));
}

/** Subscribes to a task. */
export function subscribe(options: StreamOptions & { readonly taskId: string }): OpenStream {
  return openStream(options, 'SubscribeToTask', { id: options.taskId });
}

/** What a blocking or immediate send was answered: the task. */
export interface SentTask {
  readonly id: string;
  readonly status: { readonly state: string };
}

/** Sends a script as a message; answers at the end of the turn, or with `immediately` at its first event. */
export async function sendTurn(options: {
  readonly port: number;
  readonly script: Script;
  readonly taskId?: string;
  readonly immediately?: boolean;
  /** A URL that is called for each event of the task. */
  readonly webhook?: string | undefined;
}): Promise<SentTask> {
  const { port, script, taskId, immediately = false, webhook } = options;
  const push = webhook === undefined ? {} : { taskPushNotificationConfig: { url: webhook } };
  const configuration = { returnImmediately: immediately, ...push };
  const params = { ...paramsOf(script, taskId), configuration };
  const answer = (await call(port, 'SendMessage', params)) as { task: SentTask };
  return answer.task;
}

/** Reads a task. */
export async function getTask(options: {
  readonly port: number;
  readonly taskId: string;
}): Promise<SentTask> {
  return (await call(options.port, 'GetTask', { id: options.taskId })) as SentTask;
}

function paramsOf(script: Script, taskId: string | undefined): object {
  const parts = [{ text: JSON.stringify(script) }];
  return { message: { messageId: randomUUID(), role: 'ROLE_USER', parts, ...(taskId ? { taskId } : {}) } };
}

async function call(port: number, method: string, params: object): Promise<unknown> {
  const response = await post(port, method, params).response;
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) text += String(chunk);
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } };
  if (error) throw new Error(`${method} was refused: ${error.message}`);
  return result;
}

function post(
  port: number,
  method: string,
  params: object,
): { readonly sent: ClientRequest; readonly response: Promise<IncomingMessage> } {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const sent = request({
    agent: connections,
    host: '127.0.0.1',
    port,
    path: '/a2a/jsonrpc',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'a2a-version': '1.0',
      accept: 'text/event-stream, application/json',
    },
  });
  sent.setNoDelay(true);
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject);
  });
  sent.end(body);
  return { sent, response };
}

function openStream({ port, onFrame }: StreamOptions, method: string, params: object): OpenStream {
  const { sent, response } = post(port, method, params);
  let incoming: IncomingMessage | null = null;
  let paused = false;
  let left = false;
  const ended = (async () => {
    try {
      incoming = await response;
      if (paused) incoming.pause();
      return await readFrames(incoming, onFrame);
    } catch (error) {
      if (left) return 0;
      throw error;
    }
  })();
  ended.catch(() => {});
  return {
    ended,
    close: () => {
      left = true;
      sent.destroy();
    },
    pause: () => {
      paused = true;
      incoming?.pause();
    },
    resume: () => {
      paused = false;
      incoming?.resume();
    },
  };
}

/** By events and not by `for await`, which would read ahead of a pause. */
function readFrames(
  incoming: IncomingMessage,
  onFrame: ((frame: string) => void) | undefined,
): Promise<number> {
  let rest = '';
  let frames = 0;
  incoming.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    incoming.on('data', (chunk: string) => {
      rest += chunk;
      for (let end = rest.indexOf(FRAME_END); end >= 0; end = rest.indexOf(FRAME_END)) {
        const frame = rest.slice(0, end);
        rest = rest.slice(end + FRAME_END.length);
        if (!frame.startsWith('data:')) continue;
        frames += 1;
        onFrame?.(frame);
      }
    });
    incoming.on('end', () => resolve(frames));
    incoming.on('error', reject);
    incoming.on('close', () => reject(new Error('the stream broke')));
  });
}
