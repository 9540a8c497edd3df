import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AgentCard } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { ClusterError, errorText } from '@a2a-cluster/core';
import { createDemoAgent } from './demo-agent.js';

/** What a replica runs. */
export interface LoadedAgent {
  readonly executor: AgentExecutor;
  /** The card's fields as the module exports them. */
  readonly card?: Partial<AgentCard>;
}

/**
 * Loads the ES module of an agent: its default export is an executor or a function that returns one (a promise will
 * do), and it may export `agentCard`. Without a path: the demo agent. Relative paths count from the working directory.
 * @throws {@link ClusterError} `CONFIG_INVALID`, with a message that names the file, when it cannot be loaded or
 * exports something else.
 */
export async function loadAgent(modulePath: string | undefined): Promise<LoadedAgent> {
  if (modulePath === undefined) return { executor: createDemoAgent() };
  const file = path.resolve(modulePath);
  const module = await importModule(file);
  const made: unknown =
    typeof module['default'] === 'function' ? await build(file, module['default']) : module['default'];
  if (!isExecutor(made)) {
    throw invalid(
      file,
      'its default export must be an AgentExecutor (execute, cancelTask) or a function returning one',
    );
  }
  const card: unknown = module['agentCard'];
  if (card === undefined) return { executor: made };
  if (typeof card !== 'object' || card === null)
    throw invalid(file, 'its export `agentCard` must be an object');
  return { executor: made, card: card as Partial<AgentCard> };
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    throw invalid(file, errorText(cause), cause);
  }
}

async function build(file: string, factory: unknown): Promise<unknown> {
  try {
    return await (factory as () => unknown)();
  } catch (cause) {
    throw invalid(file, `its default export threw: ${errorText(cause)}`, cause);
  }
}

function isExecutor(value: unknown): value is AgentExecutor {
  if (typeof value !== 'object' || value === null) return false;
  const { execute, cancelTask } = value as Partial<Record<keyof AgentExecutor, unknown>>;
  return typeof execute === 'function' && typeof cancelTask === 'function';
}

function invalid(file: string, why: string, cause?: unknown): ClusterError {
  return new ClusterError('CONFIG_INVALID', `AGENT_MODULE ${file} cannot be used: ${why}`, { cause });
}
