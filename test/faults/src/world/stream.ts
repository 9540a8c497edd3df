import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { StreamEnd, StreamRecord, WireEvent } from '../history/history.js';
import { post, readJson, sseFrames } from './http.js';
import { nowMs } from './now.js';
import type { OpenStream, Recorder } from './recorder.js';
import { wireError, type RpcError } from './wire-error.js';

/** What a stream is opened with. */
export interface OpenStreamOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly method: StreamRecord['method'];
  readonly params: unknown;
  readonly replica: string;
  readonly owner: string;
  readonly taskId: string | null;
  readonly messageId: string | null;
  readonly recorder: Recorder;
}

/** A streaming call: what it has said so far, and ways to wait for what it will say. */
export class Stream {
  /** Resolves when it is over, however it ended. */
  readonly ended: Promise<StreamEnd>;
  private readonly waiters = new Set<() => void>();
  private readonly leaving = new AbortController();
  private response: IncomingMessage | null = null;
  private gate: Promise<void> | null = null;
  private openGate: () => void = () => {};

  constructor(
    readonly record: OpenStream,
    private readonly options: OpenStreamOptions,
  ) {
    this.ended = this.listen().then((end) => {
      this.record.ended = end;
      this.wake();
      return end;
    });
  }

  /** The first event that fits, seen already or to come; undefined when the stream ends without one. */
  async find(fits: (event: WireEvent) => boolean): Promise<WireEvent | undefined> {
    for (;;) {
      const found = this.record.frames.find((frame) => fits(frame.event));
      if (found || this.record.ended) return found?.event;
      await new Promise<void>((resolve) => this.waiters.add(resolve));
    }
  }

  /** The id of the task it is about; undefined when it ends without one. */
  async taskId(): Promise<string | undefined> {
    if (this.record.taskId !== null) return this.record.taskId;
    await this.find((event) => taskIdOf(event) !== undefined);
    return this.record.taskId ?? undefined;
  }

  /** Goes away without another word. */
  leave(): void {
    this.leaving.abort();
    this.response?.destroy();
  }

  /** Reads nothing more until {@link resume}; the connection stays. */
  stall(): void {
    this.gate ??= new Promise((resolve) => (this.openGate = resolve));
  }

  resume(): void {
    this.openGate();
    this.gate = null;
  }

  private wake(): void {
    for (const go of this.waiters) go();
    this.waiters.clear();
  }

  private async listen(): Promise<StreamEnd> {
    try {
      return await this.read();
    } catch (error) {
      const how = this.leaving.signal.aborted ? 'left' : 'broken';
      return { atMs: nowMs(), how, detail: String(error) };
    }
  }

  private async read(): Promise<StreamEnd> {
    const { url, token, method, params } = this.options;
    const body = { jsonrpc: '2.0', id: randomUUID(), method, params };
    const response = await post({ url, token, body, shared: false, signal: this.leaving.signal });
    this.response = response;
    if (!response.headers['content-type']?.startsWith('text/event-stream')) {
      const { error } = (await readJson(response)) as { readonly error?: RpcError };
      return refused(error ?? { code: response.statusCode ?? 0, message: 'neither a stream nor an error' });
    }
    for await (const text of sseFrames(response)) {
      await this.gate;
      const { result, error } = JSON.parse(text) as {
        readonly result?: WireEvent;
        readonly error?: RpcError;
      };
      if (error) return refused(error);
      if (result) this.take(result);
    }
    return { atMs: nowMs(), how: this.leaving.signal.aborted ? 'left' : 'complete' };
  }

  private take(event: WireEvent): void {
    this.record.frames.push({ atMs: nowMs(), event });
    this.record.taskId ??= taskIdOf(event) ?? null;
    this.wake();
  }
}

function refused(error: RpcError): StreamEnd {
  return { atMs: nowMs(), how: 'error', error: wireError(error) };
}

/** The task an event is about. */
export function taskIdOf(event: WireEvent): string | undefined {
  return event.task?.id ?? event.statusUpdate?.taskId ?? event.artifactUpdate?.taskId;
}

/** The state an event names. */
export function stateOf(event: WireEvent): string | undefined {
  return event.task?.status.state ?? event.statusUpdate?.status.state;
}

/** Opens it; it is written down from now on. */
export function openStream(options: OpenStreamOptions): Stream {
  const { method, replica, owner, taskId, messageId, recorder } = options;
  const record: OpenStream = {
    ...{ id: randomUUID(), method, replica, owner, taskId, messageId },
    ...{ openedAtMs: nowMs(), frames: [], ended: null },
  };
  recorder.streams.push(record);
  return new Stream(record, options);
}
