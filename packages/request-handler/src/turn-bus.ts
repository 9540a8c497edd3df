import { DefaultExecutionEventBus, type AgentExecutionEvent } from '@a2a-js/sdk/server';

/**
 * The bus of one turn. What is published goes to the turn's log first and to listeners of the agent's own after it.
 * A muted bus takes everything and keeps nothing.
 */
export class TurnBus extends DefaultExecutionEventBus {
  constructor(private readonly sink: ((event: AgentExecutionEvent) => void) | null) {
    super();
  }

  override publish(event: AgentExecutionEvent): void {
    if (this.sink === null) return;
    this.sink(event);
    super.publish(event);
  }
}
