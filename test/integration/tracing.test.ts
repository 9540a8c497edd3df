import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { context, propagation, SpanStatusCode, trace, type Context } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { TaskState } from '@a2a-js/sdk';
import type { AgentExecutor } from '@a2a-js/sdk/server';
import { turnOf } from '@a2a-cluster/cluster';
import { createSilentLogger, encodeEvent, withTraceOf } from '@a2a-cluster/core';
import { createMemoryDatabase } from '@a2a-cluster/db';
import { messageParams } from './support/a2a-client.js';
import { newTask, statusEvent, taskEvent } from './support/events.js';
import { openFrontDoor, type FrontDoor } from './support/front-door.js';
import { agent, startInProcess } from './support/replica-in-process.js';
import { switchTracingOn, type Traces } from './support/traces.js';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

/** An agent with a span of its own around what it does, which ends long after the request did. */
const working: AgentExecutor = agent(async (request, bus) => {
  await trace.getTracer('agent').startActiveSpan('work', async (span) => {
    bus.publish(taskEvent(request));
    await turnOf(request).drained();
    bus.publish(statusEvent(request, TaskState.TASK_STATE_COMPLETED));
    span.end();
  });
});

const failing: AgentExecutor = agent(async (request, bus) => {
  bus.publish(taskEvent(request));
  throw new Error('out of paper');
});

const endless: AgentExecutor = agent(async (request, bus) => {
  bus.publish(taskEvent(request));
  const { signal } = turnOf(request);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
});

/** A webhook that keeps the headers it is sent. */
async function headerHook(): Promise<{ url: string; headers: IncomingHttpHeaders[]; server: Server }> {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    request.resume().on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, headers, server };
}

describe('tracing', () => {
  let traces: Traces;
  let door: FrontDoor;
  const hooks: Server[] = [];

  const open = async (executor: AgentExecutor): Promise<void> => {
    door = await openFrontDoor({ provider: 'memory', executor });
  };
  const send = async (
    say: { readonly text: string; readonly configuration?: Record<string, unknown> },
    headers: Record<string, string> = { traceparent },
  ): Promise<string> => {
    const response = await fetch(`${door.base}/a2a/jsonrpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: messageParams(say) }),
    });
    const { result } = (await response.json()) as { result: { task: { id: string } } };
    return result.task.id;
  };
  const parent = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

  beforeEach(() => {
    traces = switchTracingOn();
  });
  afterEach(async () => {
    await door.close();
    traces.off();
  });
  afterAll(() => {
    for (const server of hooks) server.close();
  });

  test('goes from the request to the admission, the turn, its commits, and into the executor', async () => {
    await open(working);
    const { replicaId } = door.cluster.status();
    const taskId = await send({ text: 'go' });
    const turn = await traces.span('a2a.turn', { 'a2a.task_id': taskId });
    const admission = await traces.span('a2a.admission', { 'a2a.task_id': taskId });
    const work = await traces.span('work');
    for (const span of [turn, admission]) {
      expect(span.spanContext().traceId).toBe(CALLER.traceId);
      expect(parent(span)).toBe(CALLER.spanId);
      expect(span.attributes['a2a.replica_id']).toBe(replicaId);
    }
    expect(turn.attributes).toMatchObject({ 'a2a.epoch': 1, 'a2a.turn.end': 'completed' });
    expect(turn.status.code).toBe(SpanStatusCode.UNSET);
    expect(parent(work)).toBe(turn.spanContext().spanId);
    const commits = traces.spans('a2a.commit', { 'a2a.task_id': taskId });
    expect(
      commits.map((commit) => [
        parent(commit),
        commit.attributes['a2a.seq'],
        commit.attributes['a2a.events'],
      ]),
    ).toEqual([
      [turn.spanContext().spanId, 1, 1],
      [turn.spanContext().spanId, 2, 1],
    ]);
    for (const commit of commits)
      expect(commit.attributes).toMatchObject({ 'a2a.epoch': 1, 'a2a.replica_id': replicaId });
  });

  test('a turn ends its span long after the request that began it', async () => {
    await open(endless);
    const taskId = await send({ text: 'go', configuration: { returnImmediately: true } });
    await traces.span('a2a.admission', { 'a2a.task_id': taskId });
    expect(traces.spans('a2a.turn')).toEqual([]);
    await door.cluster.close({ drainTimeoutMs: 1 });
    const turn = await traces.span('a2a.turn', { 'a2a.task_id': taskId });
    expect(turn.attributes['a2a.turn.end']).toBe('failed');
    expect(parent(turn)).toBe(CALLER.spanId);
  });

  test('without a trace of the caller a request begins one', async () => {
    await open(working);
    const taskId = await send({ text: 'go' }, {});
    const turn = await traces.span('a2a.turn', { 'a2a.task_id': taskId });
    expect(turn.parentSpanContext).toBeUndefined();
    expect(turn.spanContext().traceId).not.toBe(CALLER.traceId);
  });

  test('a span that is active around the request already is left in place', async () => {
    await open(working);
    const seen: (string | undefined)[] = [];
    trace.getTracer('http').startActiveSpan('server', (span) => {
      withTraceOf({ traceparent }, () => seen.push(trace.getActiveSpan()?.spanContext().spanId));
      seen.push(span.spanContext().spanId);
      span.end();
    });
    expect(seen[0]).toBe(seen[1]);
  });

  test('an error of the executor stands in its turn, a refused admission in the admission', async () => {
    await open(failing);
    const taskId = await send({ text: 'go' });
    const turn = await traces.span('a2a.turn', { 'a2a.task_id': taskId });
    expect(turn.status).toEqual({ code: SpanStatusCode.ERROR, message: 'out of paper' });
    expect(turn.events.map(({ name }) => name)).toEqual(['exception']);
    expect(turn.attributes['a2a.turn.end']).toBe('failed');
    door.cluster.requestHandler.drain();
    await send({ text: 'go' }).catch(() => {});
    const refused = traces.spans('a2a.admission').at(-1);
    expect(refused?.status.code).toBe(SpanStatusCode.ERROR);
    expect(refused?.status.message).toMatch(/takes no new work/);
  });

  test('a sweep is a trace of its own, with the tasks it ended', async () => {
    await trace
      .getTracer('app')
      .startActiveSpan('start-up', (span) => open(endless).finally(() => span.end()));
    const taskId = 'of-a-replica-that-died';
    const task = newTask(taskId, 'c', TaskState.TASK_STATE_WORKING);
    await door.database.journal.createTask({
      ...{ taskId, contextId: 'c', scope: { tenant: '', owner: '' }, holder: 'dead', ttlMs: 1 },
      ...{ state: 'TASK_STATE_WORKING', statusTimestamp: null, terminal: false, clearsPending: false },
      snapshot: null,
      events: [{ kind: 'task', payload: encodeEvent({ kind: 'task', data: task }), writeId: 'w' }],
    });
    const sweep = await traces.span('a2a.sweep', { 'a2a.sweep.failed': 1 });
    expect(sweep.parentSpanContext).toBeUndefined();
    expect(sweep.attributes).toMatchObject({
      'a2a.task_id': [taskId],
      'a2a.sweep.candidates': 1,
      'a2a.sweep.dropped': 0,
      'a2a.replica_id': door.cluster.status().replicaId,
    });
  });

  test('a webhook is told the trace of the turn, in a span of its delivery, and no baggage', async () => {
    await open(working);
    const hook = await headerHook();
    hooks.push(hook.server);
    const authentication = { scheme: 'Bearer', credentials: 'for-the-hook' };
    const taskPushNotificationConfig = { url: hook.url, authentication };
    const taskId = await send(
      { text: 'go', configuration: { taskPushNotificationConfig } },
      { traceparent, baggage: 'inside=secret' },
    );
    const delivery = await traces.span('a2a.push.delivery', { 'a2a.task_id': taskId, 'a2a.seq': 2 });
    const turn = await traces.span('a2a.turn', { 'a2a.task_id': taskId });
    expect(parent(delivery)).toBe(turn.spanContext().spanId);
    expect(delivery.attributes).toMatchObject({ 'a2a.push.outcome': 'delivered', 'a2a.push.attempt': 1 });
    const { traceId, spanId } = delivery.spanContext();
    expect(traceId).toBe(CALLER.traceId);
    const sent = hook.headers.find((headers) => headers.traceparent === `00-${traceId}-${spanId}-01`);
    expect(sent).toMatchObject({ authorization: 'Bearer for-the-hook', 'user-agent': 'a2a-cluster' });
    expect(sent).not.toHaveProperty('baggage');
  });

  test('a propagator takes the place of no header that a webhook gets anyway', async () => {
    propagation.disable();
    propagation.setGlobalPropagator({
      inject(_context: Context, carrier: unknown): void {
        Object.assign(carrier as object, { Authorization: 'Bearer stolen', 'x-trace': 'yes' });
      },
      extract: (from: Context) => from,
      fields: () => [],
    });
    await open(working);
    const hook = await headerHook();
    hooks.push(hook.server);
    const authentication = { scheme: 'Bearer', credentials: 'for-the-hook' };
    await send({
      text: 'go',
      configuration: { taskPushNotificationConfig: { url: hook.url, authentication } },
    });
    await traces.span('a2a.push.delivery', { 'a2a.seq': 2 });
    expect(hook.headers.at(-1)).toMatchObject({ authorization: 'Bearer for-the-hook', 'x-trace': 'yes' });
  });

  test('without a propagator a webhook gets no header of it', async () => {
    propagation.disable();
    await open(working);
    const hook = await headerHook();
    hooks.push(hook.server);
    await send({ text: 'go', configuration: { taskPushNotificationConfig: { url: hook.url } } });
    await traces.span('a2a.push.delivery', { 'a2a.seq': 2 });
    expect(hook.headers.at(-1)).not.toHaveProperty('traceparent');
  });

  test('what fails at the webhook is an error of its delivery', async () => {
    await open(working);
    await send({ text: 'go', configuration: { taskPushNotificationConfig: { url: 'http://127.0.0.1:9/' } } });
    const delivery = await traces.span('a2a.push.delivery', { 'a2a.push.outcome': 'failed' });
    expect(delivery.status.code).toBe(SpanStatusCode.ERROR);
  });
});

describe('with tracing off', () => {
  test('nothing is opened, nothing is made active, and a webhook gets no header of it', async () => {
    let active: Context | undefined;
    const quiet = agent(async (request, bus) => {
      active = context.active();
      await working.execute(request, bus);
    });
    const replica = await startInProcess({
      executor: quiet,
      database: createMemoryDatabase(),
      logger: createSilentLogger(),
    });
    const hook = await headerHook();
    await replica.client.send({
      text: 'go',
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    });
    await replica.close({ drainTimeoutMs: 1_000 });
    expect(trace.getSpan(active ?? context.active())).toBeUndefined();
    expect(hook.headers.length).toBeGreaterThan(0);
    for (const headers of hook.headers) expect(headers).not.toHaveProperty('traceparent');
    hook.server.close();
  });
});
