import type { ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';

/** A turn of the demo agent: what tells it to stop, and whether it is listening. */
export interface AgentTurn {
  readonly taskId: string;
  readonly contextId: string;
  readonly bus: ExecutionEventBus;
  /** Fires when the turn must stop; a stop that came while the turn was deaf is forgotten. */
  readonly signal: AbortSignal;
  /** While true nothing stops the turn. */
  deaf: boolean;
  /** Stops the turn unless it is deaf. */
  stop(): void;
  /** Lets go of the server's signal. */
  end(): void;
}

/** Begins a turn, bound to the server's signal where the server gives one. */
export function beginTurn(context: RequestContext, bus: ExecutionEventBus): AgentTurn {
  const own = new AbortController();
  const server = serverSignal(context);
  const stop = (): void => {
    if (!turn.deaf) own.abort();
  };
  const turn: AgentTurn = {
    taskId: context.taskId,
    contextId: context.contextId,
    bus,
    signal: own.signal,
    deaf: false,
    stop,
    end: () => server?.removeEventListener('abort', stop),
  };
  server?.addEventListener('abort', stop, { once: true });
  if (server?.aborted) stop();
  return turn;
}

/** The signal a server may hang on the request context. It is read by name: the agent imports nothing of the cluster. */
function serverSignal(context: RequestContext): AbortSignal | undefined {
  const signal: unknown = 'signal' in context ? context.signal : undefined;
  return signal instanceof AbortSignal ? signal : undefined;
}

/** How many ended turns are remembered, so that a late cancel can still name their context. */
const REMEMBERED = 1000;

/** The turns this agent runs and ran last, by task. */
export interface AgentTurns {
  add(turn: AgentTurn): void;
  remove(turn: AgentTurn): void;
  /** The turn a cancel means: the one that publishes on this bus, or else the task's latest. */
  find(taskId: string, bus: ExecutionEventBus): AgentTurn | undefined;
  /** The context of a task that was seen here, `''` if it was not. */
  contextOf(taskId: string): string;
}

/** An empty book of turns. */
export function createAgentTurns(): AgentTurns {
  const running = new Set<AgentTurn>();
  const contexts = new Map<string, string>();
  return {
    add(turn) {
      running.add(turn);
      contexts.delete(turn.taskId);
      contexts.set(turn.taskId, turn.contextId);
      const [oldest] = contexts.keys();
      if (contexts.size > REMEMBERED && oldest !== undefined) contexts.delete(oldest);
    },
    remove: (turn) => void running.delete(turn),
    find(taskId, bus) {
      const turns = [...running].filter((turn) => turn.taskId === taskId);
      return turns.find((turn) => turn.bus === bus) ?? turns.at(-1);
    },
    contextOf: (taskId) => contexts.get(taskId) ?? '',
  };
}
