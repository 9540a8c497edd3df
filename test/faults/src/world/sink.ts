import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PushRecord, WireEvent } from '../history/history.js';
import { nowMs } from './now.js';
import type { OpenPush, Recorder } from './recorder.js';
import { taskIdOf } from './stream.js';

/** How a delivery is answered; `hang`: never, `reset`: by cutting the connection. */
export type Reply =
  'hang' | 'reset' | { readonly status: number; readonly retryAfter?: string; readonly afterMs?: number };

/** Decides how a delivery is answered. `nth`: counts the deliveries to its hook, from 1. */
export type Answering = (push: PushRecord, nth: number) => Reply;

/** A webhook that writes down everything it is sent. */
export interface Sink {
  /** An address of its own for one config; `hook` stands at its end. */
  url(hook: string): string;
  /** How deliveries are answered from now on; null: 200 at once. What hangs goes on hanging. */
  answerWith(answer: Answering | null): void;
  close(): Promise<void>;
}

const FINE: Answering = () => ({ status: 200 });

/** Starts one on loopback, with an origin of its own. */
export async function startSink(recorder: Recorder): Promise<Sink> {
  let answer = FINE;
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const push = recordOf(request, Buffer.concat(chunks));
      recorder.pushes.push(push);
      const nth = (counts.get(push.hook) ?? 0) + 1;
      counts.set(push.hook, nth);
      reply(push, response, answer(push, nth));
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (hook) => `http://127.0.0.1:${port}/${hook}`,
    answerWith: (next) => void (answer = next ?? FINE),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function recordOf(request: IncomingMessage, body: Buffer): OpenPush {
  const event = JSON.parse(body.toString('utf8')) as WireEvent;
  const id = request.headers['a2a-notification-id'];
  return {
    atMs: nowMs(),
    hook: request.url?.split('/').at(-1) ?? '',
    taskId: taskIdOf(event) ?? '',
    id: typeof id === 'string' ? id : null,
    event,
    digest: createHash('sha256').update(body).digest('base64url').slice(0, 16),
    ...{ answer: null, answeredAtMs: null },
  };
}

function reply(push: OpenPush, response: ServerResponse, how: Reply): void {
  const answered = (answer: NonNullable<PushRecord['answer']>): void => {
    push.answer ??= answer;
    push.answeredAtMs ??= nowMs();
  };
  if (how === 'hang') return answered('hang');
  if (how === 'reset') {
    answered('reset');
    response.socket?.resetAndDestroy();
    return;
  }
  const { status, retryAfter, afterMs = 0 } = how;
  const send = (): void => {
    if (push.answer !== null) return;
    answered(status);
    response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
  };
  // A sender that does not wait for the answer has not been told it.
  response.once('close', () => answered('gone'));
  if (afterMs === 0) send();
  else setTimeout(send, afterMs).unref();
}
