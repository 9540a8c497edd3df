import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { TaskState } from '@a2a-js/sdk';
import type { Logger } from '@a2a-cluster/core';
import { createSilentLogger } from '@a2a-cluster/core';
import { createTestDatabase } from '@a2a-cluster/testing';
import { messageParams } from './support/a2a-client.js';
import { artifactEvent, statusEvent, taskEvent } from './support/events.js';
import { Recording } from './support/recording.js';
import { agent, startInProcess, type InProcessReplica } from './support/replica-in-process.js';
import { waitUntil } from './support/wait-until.js';

const MIB = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** 50 MiB. */
const CHUNKS = 800;
/** The task, the chunks and the end. */
const FRAMES = CHUNKS + 2;

const ends: (() => Promise<unknown>)[] = [];
let collectGarbage: () => void = () => {};

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Set {
  readonly replica: InProcessReplica;
  /** Lets the agent say its chunks. */
  go(): void;
  readonly warnings: string[];
}

/** A replica whose agent says its task, waits, and then says `chunks` chunks as fast as they are stored. */
async function setWith(options: {
  readonly chunks?: number;
  /** The chunks make one large artifact, and do not take each other's place. */
  readonly append?: boolean;
  readonly slowReaderTimeoutMs?: number;
}): Promise<Set> {
  const { chunks = CHUNKS, append = false, ...limits } = options;
  const database = await createTestDatabase({ provider: 'sqlite' });
  ends.push(() => database.drop());
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const text = 'x'.repeat(CHUNK_BYTES);
  const executor = agent(async (context, bus) => {
    bus.publish(taskEvent(context));
    await gate;
    for (let chunk = 0; chunk < chunks; chunk++) {
      bus.publish(artifactEvent(context, text, append && chunk > 0));
      if (chunk % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    bus.publish(statusEvent(context, TaskState.TASK_STATE_COMPLETED));
  });
  const warnings: string[] = [];
  const logger: Logger = { ...createSilentLogger(), warn: (_fields, text) => void warnings.push(text) };
  const replica = await startInProcess({ databaseUrl: database.url, executor, logger, ...limits });
  ends.push(() => replica.close());
  return { replica, go, warnings };
}

/** A client over a bare socket that stops reading when it has read its first frame. */
class StallingClient {
  private text = '';
  private bytes = 0;
  readonly closed: Promise<unknown>;

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    ends.push(async () => socket.destroy());
  }

  static async open(replica: InProcessReplica, head: string): Promise<StallingClient> {
    const { hostname, port } = new URL(replica.base);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(head);
    return new StallingClient(socket);
  }

  async firstFrame(): Promise<string> {
    while (!/"task":\{"id":"[^"]+"[^]*\n\n/.test(this.text)) {
      const [chunk] = (await once(this.socket, 'data')) as [Buffer];
      this.text += chunk.toString('latin1');
    }
    this.socket.pause();
    return /"task":\{"id":"([^"]+)"/.exec(this.text)?.[1] ?? '';
  }

  /** Reads so many bytes at a time, with a pause after each, to the end; gives the number of frames. */
  async readOn(pace: { readonly bytes: number; readonly pauseMs: number } | null): Promise<number> {
    this.socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
      this.bytes += chunk.length;
      if (pace === null || this.bytes < pace.bytes) return;
      this.bytes = 0;
      this.socket.pause();
      setTimeout(() => this.socket.resume(), pace.pauseMs);
    });
    this.socket.resume();
    await this.closed;
    return this.text.split('data: ').length - 1;
  }
}

function rpcHead(method: string, params: unknown): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return (
    'POST /a2a/jsonrpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n' +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}

function restHead(taskId: string): string {
  return `GET /a2a/rest/tasks/${taskId}:subscribe HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nConnection: close\r\n\r\n`;
}

/** Memory of this process that is in use. */
function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function completed(replica: InProcessReplica, taskId: string): Promise<true> {
  const state = async (): Promise<true | undefined> =>
    (await replica.cluster.operator.tasks.find()).tasks.some(
      (task) => task.taskId === taskId && task.state === 'TASK_STATE_COMPLETED',
    ) || undefined;
  return waitUntil({ what: 'the turn ends', limitMs: 60_000, ask: state });
}

describe('clients that read nothing', () => {
  test('cost a few frames each, slow nobody down, and miss nothing when they read on', async () => {
    const { replica, go } = await setWith({});
    const caller = await StallingClient.open(
      replica,
      rpcHead('SendStreamingMessage', messageParams({ text: 'go' })),
    );
    const taskId = await caller.firstFrame();
    const heads = [restHead(taskId), rpcHead('SubscribeToTask', { id: taskId }), restHead(taskId)];
    const stalled = [caller, ...(await Promise.all(heads.map((head) => StallingClient.open(replica, head))))];
    for (const client of stalled.slice(1)) await client.firstFrame();
    const reader = new Recording(replica.client.subscribe(taskId));
    await reader.taskId();
    const before = usedBytes();
    let mostPending = 0;
    const watch = setInterval(() => (mostPending = Math.max(mostPending, replica.pendingBytes())), 5);
    go();
    await completed(replica, taskId);
    await reader.ended;
    clearInterval(watch);
    const chunks = reader.events.filter((event) => event.artifactUpdate).length;
    expect(chunks).toBe(CHUNKS);
    reader.events.length = 0;
    // Of 50 MiB for each of the four: a frame and what the buffer of a connection takes.
    expect(mostPending).toBeLessThan(stalled.length * 4 * CHUNK_BYTES + 4 * CHUNK_BYTES);
    expect(usedBytes() - before).toBeLessThan(stalled.length * 8 * MIB);
    expect(await Promise.all(stalled.map((client) => client.readOn(null)))).toEqual(
      stalled.map(() => FRAMES),
    );
  }, 120_000);

  test('are cut off in the end, and the others and the turn go on', async () => {
    const { replica, go, warnings } = await setWith({ slowReaderTimeoutMs: 300 });
    const caller = await StallingClient.open(
      replica,
      rpcHead('SendStreamingMessage', messageParams({ text: 'go' })),
    );
    const taskId = await caller.firstFrame();
    const watcher = await StallingClient.open(replica, restHead(taskId));
    await watcher.firstFrame();
    const reader = new Recording(replica.client.subscribe(taskId));
    await reader.taskId();
    go();
    await waitUntil({
      what: 'both streams are freed',
      limitMs: 10_000,
      ask: () => Promise.resolve(replica.cluster.status().stream.tails <= 1 || undefined),
    });
    await completed(replica, taskId);
    expect(await reader.ended).toBeNull();
    expect(reader.events.filter((event) => event.artifactUpdate)).toHaveLength(CHUNKS);
    expect(warnings.filter((text) => text.includes('was cut off'))).toHaveLength(2);
    expect(await caller.readOn(null)).toBeLessThan(FRAMES);
  }, 60_000);

  test('of an answer that is no stream are cut off as well', async () => {
    const { replica, go, warnings } = await setWith({ chunks: 400, append: true, slowReaderTimeoutMs: 300 });
    go();
    const answer = await replica.client.send({ text: 'go' });
    const head = rpcHead('GetTask', { id: answer.result?.task?.id });
    const client = await StallingClient.open(replica, head);
    await waitUntil({
      what: 'it is cut off',
      limitMs: 10_000,
      ask: () => Promise.resolve(warnings.length > 0 || undefined),
    });
    expect(replica.pendingBytes()).toBe(0);
    await client.readOn(null);
  }, 60_000);
});

describe('clients that are not cut off', () => {
  test('read slowly and steadily', async () => {
    const { replica, go, warnings } = await setWith({ chunks: 250, slowReaderTimeoutMs: 400 });
    const client = await StallingClient.open(
      replica,
      rpcHead('SendStreamingMessage', messageParams({ text: 'go' })),
    );
    const taskId = await client.firstFrame();
    go();
    const frames = client.readOn({ bytes: 512 * 1024, pauseMs: 100 });
    await completed(replica, taskId);
    expect(await frames).toBe(252);
    expect(warnings).toEqual([]);
  }, 60_000);

  test('wait for a task that says nothing for long', async () => {
    const { replica, go, warnings } = await setWith({ chunks: 1, slowReaderTimeoutMs: 50 });
    const stream = new Recording(replica.client.stream({ text: 'go' }));
    await stream.taskId();
    await new Promise((resolve) => setTimeout(resolve, 500));
    go();
    expect(await stream.ended).toBeNull();
    expect(stream.events).toHaveLength(3);
    expect(warnings).toEqual([]);
  });
});
