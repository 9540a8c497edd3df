// JSON-RPC on standard input and output, one object a line, as the native engine speaks it with the CLI.
import readline from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

/** @param {string} content shown by the CLI as it is */
export function print(content) {
  send({ id: `print-${content.length}`, method: 'print', params: { content: content.replace(/\n$/, '') } });
}

function failure(error) {
  const code = /^P\d+$/.test(error.code ?? '') ? error.code : null;
  return {
    code: 4466,
    message: 'An error happened. Check the data field for details.',
    data: { is_panic: false, message: error.message ?? String(error), meta: null, error_code: code },
  };
}

/**
 * Answers requests one after the other, until the CLI closes the pipe.
 * @param {{ answer: (method: string, params: object) => Promise<unknown>, close: () => Promise<unknown> }} handler
 */
export function serve({ answer, close }) {
  let queue = Promise.resolve();
  const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (!method) return; // the CLI's word that it has printed
    queue = queue.then(async () => {
      try {
        send({ id, result: (await answer(method, params)) ?? null });
      } catch (error) {
        send({ id, error: failure(error) });
      }
    });
  });
  lines.on('close', () => {
    queue = queue.then(async () => {
      // A connection that does not close must not keep the CLI waiting.
      const patience = new Promise((resolve) => setTimeout(resolve, 500));
      await Promise.race([close().catch(() => {}), patience]);
      process.exit(0);
    });
  });
}
