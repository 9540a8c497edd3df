import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** A request as it goes out: no client tidies up its path or its bytes. */
export interface RawRequest {
  readonly path: string;
  /** Default: POST with a body, GET without. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** What came back, whole. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** How long an answer may take. */
export const ANSWER_MS = 5_000;

/**
 * Sends a request on a connection of its own and reads the answer to its end, or up to where `enough` says so.
 * @throws when it is not there within {@link ANSWER_MS}.
 */
export async function sendRaw(
  base: string,
  wanted: RawRequest,
  enough: (text: string) => boolean = () => false,
): Promise<RawAnswer> {
  const { path, body, headers = {} } = wanted;
  const method = wanted.method ?? (body === undefined ? 'GET' : 'POST');
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const signal = AbortSignal.timeout(ANSWER_MS);
  const outgoing = request(base, { path, method, agent: false, signal, headers: { ...length, ...headers } });
  // A server that has answered before it read all may cut the rest off.
  outgoing.on('error', () => {});
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response', { signal })) as [IncomingMessage];
  let text = '';
  answer.setEncoding('utf8');
  for await (const chunk of answer) {
    text += String(chunk);
    if (enough(text)) break;
  }
  outgoing.destroy();
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}
