import { randomUUID } from 'node:crypto';

/** A StreamResponse as it stands on the wire. */
export interface WireEvent {
  readonly task?: WireTask;
  readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  readonly statusUpdate?: WireStatusUpdate;
  readonly artifactUpdate?: {
    readonly lastChunk?: boolean;
    readonly taskId: string;
    readonly artifact: { readonly parts: readonly { text?: string }[] };
  };
}

/** A Task as it stands on the wire. */
export interface WireTask {
  readonly id: string;
  readonly contextId: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
  readonly history?: readonly {
    readonly messageId: string;
    readonly role: string;
    readonly parts: readonly { text?: string }[];
  }[];
  readonly artifacts?: readonly {
    readonly artifactId: string;
    readonly parts: readonly { readonly text?: string }[];
  }[];
  readonly metadata?: Record<string, unknown>;
}

/** A status update as it stands on the wire. */
export interface WireStatusUpdate {
  readonly taskId: string;
  readonly status: {
    readonly state: string;
    readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  };
  readonly metadata?: { readonly 'a2a-cluster'?: { readonly reason?: string } };
}

/** A JSON-RPC error as it stands on the wire. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly { readonly reason?: string; readonly metadata?: Record<string, string> }[];
}

/** An answer of JSON-RPC. */
export interface Answer<T> {
  readonly result?: T;
  readonly error?: WireError;
}

/** Thrown where a stream is answered by an error, or ends in one. */
export class WireFault extends Error {
  constructor(readonly error: WireError) {
    super(`${error.code} ${error.message}`);
  }
}

/** What a message is made of. */
export interface Say {
  readonly text: string;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly messageId?: string;
  readonly configuration?: Record<string, unknown>;
}

/** A client of one replica, over JSON-RPC: small on purpose, so that a test sees what is on the wire. */
export class A2AClient {
  constructor(
    readonly base: string,
    private readonly token?: string,
  ) {}

  send(say: Say): Promise<Answer<{ task?: WireTask; message?: WireEvent['message'] }>> {
    return this.call('SendMessage', messageParams(say));
  }

  stream(say: Say, signal?: AbortSignal): AsyncGenerator<WireEvent, void, undefined> {
    return this.events('SendStreamingMessage', messageParams(say), signal);
  }

  subscribe(taskId: string, signal?: AbortSignal): AsyncGenerator<WireEvent, void, undefined> {
    return this.events('SubscribeToTask', { id: taskId }, signal);
  }

  get(taskId: string): Promise<Answer<WireTask>> {
    return this.call('GetTask', { id: taskId });
  }

  cancel(taskId: string): Promise<Answer<WireTask>> {
    return this.call('CancelTask', { id: taskId });
  }

  async call<T>(method: string, params: unknown): Promise<Answer<T>> {
    const response = await this.post(method, params);
    return (await response.json()) as Answer<T>;
  }

  /** The events of a streaming call, as they come. */
  async *events(
    method: string,
    params: unknown,
    signal?: AbortSignal,
  ): AsyncGenerator<WireEvent, void, undefined> {
    const response = await this.post(method, params, signal);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const answer = (await response.json()) as Answer<never>;
      throw new WireFault(answer.error ?? { code: response.status, message: 'no stream and no error' });
    }
    for await (const frame of frames(response)) {
      const answer = JSON.parse(frame) as Answer<WireEvent>;
      if (answer.error) throw new WireFault(answer.error);
      if (answer.result) yield answer.result;
    }
  }

  private post(method: string, params: unknown, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.base}/a2a/jsonrpc`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'a2a-version': '1.0',
        ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method, params }),
      ...(signal ? { signal } : {}),
    });
  }
}

/** The params of a message. */
export function messageParams(say: Say): Record<string, unknown> {
  const { text, taskId, contextId, messageId, configuration } = say;
  return {
    message: {
      messageId: messageId ?? randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text }],
      ...(taskId ? { taskId } : {}),
      ...(contextId ? { contextId } : {}),
    },
    ...(configuration ? { configuration } : {}),
  };
}

async function* frames(response: Response): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  let rest = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
      const data = rest
        .slice(0, end)
        .split('\n')
        .filter((line) => line.startsWith('data:'));
      rest = rest.slice(end + 2);
      if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join('\n');
    }
  }
}
