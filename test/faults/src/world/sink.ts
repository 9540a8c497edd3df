import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WireEvent } from '../history/history.js';
import { nowMs } from './now.js';
import type { Recorder } from './recorder.js';
import { taskIdOf } from './stream.js';

/** A webhook that writes down everything it is sent. */
export interface Sink {
  /** An address of its own for one config; `hook` stands at its end. */
  url(hook: string): string;
  /** Decides how deliveries are answered from now on; null: 200 at once. */
  answerWith(answer: ((response: ServerResponse) => void) | null): void;
  close(): Promise<void>;
}

/** Starts one on loopback. */
export async function startSink(recorder: Recorder): Promise<Sink> {
  let answer: ((response: ServerResponse) => void) | null = null;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const event = JSON.parse(Buffer.concat(chunks).toString('utf8')) as WireEvent;
      const hook = request.url?.split('/').at(-1) ?? '';
      recorder.pushes.push({ atMs: nowMs(), hook, taskId: taskIdOf(event) ?? '', event });
      if (answer === null) response.end();
      else answer(response);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: (hook) => `http://127.0.0.1:${port}/${hook}`,
    answerWith: (next) => void (answer = next),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
