import type { BenchContext } from '../benchmark.js';
import type { ServerCommand, ServerMessage, ServerSettings, ServerStats } from '../servers/protocol.js';
import { startChild } from './child.js';

/** A server in a process of its own. */
export interface BenchServer {
  readonly port: number;
  /** What it has used since it started, and the statements since the last call. */
  stats(): Promise<ServerStats>;
  /** Lets agents that hold their turn say one more event and end. */
  release(): void;
  /** Ends the process, cleanly. A second call does nothing. */
  close(): Promise<void>;
}

/** Starts a server and waits until it listens. The benchmark's clean-up ends it. */
export async function startServer(context: BenchContext, settings: ServerSettings): Promise<BenchServer> {
  const child = startChild<ServerMessage, ServerCommand>(context, {
    main: 'main',
    name: settings.kind,
    settings,
  });
  const { port } = await child.next('ready');
  return {
    port,
    stats: async () => (await child.ask({ type: 'stats' }, 'stats')).stats,
    release: () => child.send({ type: 'release' }),
    close: child.close,
  };
}
