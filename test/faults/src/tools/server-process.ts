import { spawnOwned, type OwnedProcess, type SpawnOwned } from './owned.js';
import { until } from './processes.js';

/** How long a server may take to answer, and to end. */
const LIMIT_MS = 30_000;

/** A server that is started and ended many times. */
export interface ServerProcess {
  /** 0 while it does not run. */
  pid(): number;
  /** Resolves when it answers. Does nothing when it runs. @throws with its last words when it does not come up. */
  start(): Promise<void>;
  /** Resolves when it is down. Does nothing when it is. */
  stop(signal: NodeJS.Signals): Promise<void>;
  /** Sends it a signal, if it runs. */
  signal(signal: NodeJS.Signals): void;
}

/** Prepares a server; `answers` tells whether it serves by now, and may reject when it does not. */
export function serverProcess(
  name: string,
  command: SpawnOwned,
  answers: () => Promise<unknown>,
): ServerProcess {
  let running: OwnedProcess | null = null;

  async function awaitAnswer(server: OwnedProcess): Promise<void> {
    let ended: number | string | null = null;
    void server.exited.then((how) => {
      ended = how;
      if (running === server) running = null;
    });
    const isUp = async (): Promise<boolean> => {
      if (ended !== null) throw new Error(`${name} ended with ${ended} while starting:\n${server.output()}`);
      return answers().then(
        () => ended === null,
        () => false,
      );
    };
    await until(isUp, { what: `${name} to answer`, withinMs: LIMIT_MS });
  }

  return {
    pid: () => running?.pid ?? 0,
    signal: (signal) => running?.signal(signal),
    async start() {
      if (running !== null) return;
      const server = await spawnOwned(command);
      running = server;
      try {
        await awaitAnswer(server);
      } catch (error) {
        await server.end(command.endsBy);
        throw error;
      }
    },
    async stop(signal) {
      await running?.end(signal, LIMIT_MS);
      running = null;
    },
  };
}
