import { Agent, request, type IncomingMessage } from 'node:http';

/** A POST of JSON. */
export interface Post {
  readonly url: string;
  readonly token: string | undefined;
  readonly body: unknown;
  /** Whether the connection may serve other posts; a stream has one of its own. */
  readonly shared: boolean;
  readonly signal?: AbortSignal;
}

/** Kept open between calls, so that thousands of rounds do not use up the ports of the machine. */
const shared = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends it; resolves with the response as soon as its head is there. */
export function post({ url, token, body, shared: keep, signal }: Post): Promise<IncomingMessage> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      agent: keep ? shared : false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        'a2a-version': '1.0',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(signal ? { signal } : {}),
    });
    call.once('response', resolve);
    call.once('error', reject);
    call.end(text);
  });
}

/** Reads a response to its end as JSON. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
}

/** The data of every SSE frame of a response, as they come. */
export async function* sseFrames(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response) {
    rest += String(chunk);
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
