import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer as it came over a bare socket. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON. */
  readonly body: unknown;
}

/** A bare connection: it sends what it is told to and nothing else. */
export interface RawConnection {
  readonly socket: Socket;
  send(text: string | Buffer): void;
  /** The next answer, read to its end. Rejects when the connection ends before. */
  answer(): Promise<RawAnswer>;
  /** Resolves when the connection has ended; nothing is kept of what still comes. */
  readonly closed: Promise<void>;
}

export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1');
  // Whoever is cut off while it sends hears of it here.
  socket.on('error', () => {});
  await once(socket, 'connect');
  let text = '';
  let wake = (): void => {};
  let over = false;
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    wake();
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      over = true;
      wake();
      resolve();
    });
  });
  return {
    socket,
    closed,
    send: (data) => void socket.write(data),
    async answer() {
      for (;;) {
        const parsed = parse(text);
        if (parsed !== undefined) {
          text = text.slice(parsed.length);
          return parsed.answer;
        }
        if (over) throw new Error(`the connection ended; it had said ${JSON.stringify(text.slice(0, 300))}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

function parse(text: string): { readonly answer: RawAnswer; readonly length: number } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.slice(line.indexOf(':') + 1).trim()]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return undefined;
  const body = text.slice(end + 4, length);
  return {
    length,
    answer: {
      headers,
      status: Number(first.split(' ')[1]),
      body: body.startsWith('{') ? JSON.parse(body) : body,
    },
  };
}

/** The head of a POST. */
export function post(path: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries({ Host: 'localhost', 'Content-Type': 'application/json', ...headers });
  return [`POST ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
}

/** A piece of a chunked body. */
export function chunkOf(data: string): string {
  return `${data.length.toString(16)}\r\n${data}\r\n`;
}
