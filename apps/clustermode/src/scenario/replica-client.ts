import { randomUUID } from 'node:crypto';
import { Role, type SendMessageRequest, type StreamResponse } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import { stateName } from '@a2a-cluster/core';
import { agentCardFor } from '../agent/card.js';

/** A replica as its client sees it. */
export interface ReplicaClient {
  readonly url: string;
  readonly client: Client;
  /** What `/readyz` says, ready or not. */
  readyz(): Promise<Readyz>;
}

/** The part of `/readyz` that is used here. */
export interface Readyz {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly replicaId?: string;
  readonly pid: number;
}

/** Options of {@link connectTo}. */
export interface ConnectOptions {
  readonly url: string;
  /** A Bearer token, where the replicas want one. */
  readonly token?: string;
}

/** A client of exactly this replica: the card it serves may name a load balancer. */
export async function connectTo({ url, token }: ConnectOptions): Promise<ReplicaClient> {
  const authorized: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
  const transports = [new JsonRpcTransportFactory({ fetchImpl: authorized })];
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports }),
  );
  const client = await factory.createFromAgentCard(agentCardFor({ publicUrl: url }));
  return {
    url,
    client,
    async readyz() {
      const response = await fetch(`${url}/readyz`);
      return (await response.json()) as Readyz;
    },
  };
}

/** A message of a user with this text; with a task, a follow-up. */
export function textMessage(text: string, taskId = ''): SendMessageRequest {
  return {
    tenant: '',
    message: {
      messageId: randomUUID(),
      contextId: '',
      taskId,
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: undefined,
    metadata: undefined,
  };
}

/** What an event of a stream says of its task. */
export interface Sight {
  readonly taskId: string;
  /** The full name, or `''` for an event that has none. */
  readonly state: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** The state and text in an event. */
export function sightOf(event: StreamResponse): Sight {
  const payload = event.payload;
  if (payload?.$case !== 'task' && payload?.$case !== 'statusUpdate') {
    const taskId = payload?.$case === 'artifactUpdate' ? payload.value.taskId : '';
    return { taskId, state: '', text: '', metadata: undefined };
  }
  const { status, metadata } = payload.value;
  const taskId = payload.$case === 'task' ? payload.value.id : payload.value.taskId;
  const content = status?.message?.parts[0]?.content;
  const text = content?.$case === 'text' ? content.value : '';
  return { taskId, state: stateName(status?.state), text, metadata };
}
