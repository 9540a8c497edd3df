import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createTestDatabase, hasTools, type TestDatabase } from '@a2a-cluster/testing';
import { A2AClient } from '../integration/support/a2a-client.js';
import { Recording, stateOf } from '../integration/support/recording.js';
import type { ReplicaProcess } from '../integration/support/replica-process.js';
import {
  balancerKinds,
  checkBalancer,
  missingBalancer,
  startBalancer,
  type RunningBalancer,
} from './support/balancers.js';
import { deployFile } from './support/deploy-file.js';
import { ownNetwork } from './support/own-network.js';
import { OPERATOR_TOKEN, startReplicaAt } from './support/replicas-at.js';

jest.setTimeout(120_000);

/** Who answers, by `/readyz`; a draining replica's answer counts too where it comes through. */
async function whoAnswers(base: string): Promise<string> {
  const answer = await fetch(`${base}/readyz`);
  const { replicaId } = (await answer.json()) as { replicaId: string };
  expect(answer.status).toBe(200);
  return replicaId.replace(/-[^-]+$/, '');
}

const answersOf = async (base: string, count: number): Promise<Set<string>> => {
  const names = new Set<string>();
  for (let index = 0; index < count; index += 1) names.add(await whoAnswers(base));
  return names;
};

for (const kind of balancerKinds) {
  const runs = hasTools({ tests: `${kind.name} in front of replicas`, missing: missingBalancer(kind) });
  (runs ? describe : describe.skip)(`${kind.name}, as deploy/${kind.file} has it`, () => {
    const network = ownNetwork();
    let database: TestDatabase;
    let balancer: RunningBalancer;
    const replicas: ReplicaProcess[] = [];
    let client: A2AClient;

    beforeAll(async () => {
      // Checked first: a file that is wrong would only time out below.
      await checkBalancer(kind, network);
      database = await createTestDatabase({ provider: 'sqlite' });
      for (const number of [1, 2, 3])
        replicas.push(
          await startReplicaAt({
            host: network.replica(number),
            name: `replica-${number}`,
            databaseUrl: database.url,
          }),
        );
      balancer = await startBalancer(kind, network);
      client = new A2AClient(balancer.base);
    });
    afterAll(async () => {
      await balancer?.remove();
      await Promise.all(replicas.map((replica) => replica.end()));
      await database?.drop();
    });

    test('sends requests to every replica in turn', async () => {
      expect(await answersOf(balancer.base, 12)).toEqual(new Set(['replica-1', 'replica-2', 'replica-3']));
    });

    test('passes each event on at once: what was said arrives while the turn is silent', async () => {
      const stream = new Recording(client.stream({ text: 'tick 3 50; sleep 600000' }));
      const taskId = await stream.taskId();
      await stream.find(() => stream.states().filter((state) => state === 'TASK_STATE_WORKING').length >= 3);
      const second = new Recording(client.subscribe(taskId));
      await second.taskId();
      await client.cancel(taskId);
      await stream.find((event) => stateOf(event) === 'TASK_STATE_CANCELED');
      await second.find((event) => stateOf(event) === 'TASK_STATE_CANCELED');
      expect(await stream.ended).toBeNull();
    });

    test("keeps the operators' routes behind their own door", async () => {
      const [outside, inside] = await Promise.all(
        [balancer.base, balancer.operators].map((base) =>
          fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } }),
        ),
      );
      expect([outside?.status, inside?.status]).toEqual([404, 200]);
      await Promise.all([outside?.text(), inside?.text()]);
    });

    test('a replica that drains gets nothing new, and its streams go on to their end', async () => {
      const leaving = replicas[0] as ReplicaProcess;
      const through = await streamOn(leaving, balancer.base);
      leaving.kill('SIGTERM');
      await leaving.log((line) => line.msg === 'draining');
      if (kind.asksReadiness) await untilLeft(balancer.base, 'replica-1');
      // nginx is told by the refusal itself, and asks the next replica.
      expect(await answersOf(balancer.base, 12)).toEqual(new Set(['replica-2', 'replica-3']));
      if (kind.asksReadiness)
        for (let index = 0; index < 6; index += 1)
          expect((await client.send({ text: 'done' })).result?.task?.status.state).toBe(
            'TASK_STATE_COMPLETED',
          );
      await through.find((event) => stateOf(event) === 'TASK_STATE_COMPLETED');
      expect(await leaving.exited).toBe(0);
    });

    test('when a replica is killed, requests go to the others', async () => {
      const killed = replicas[1] as ReplicaProcess;
      killed.kill('SIGKILL');
      await killed.exited;
      for (let index = 0; index < 6; index += 1)
        expect((await client.send({ text: 'done' })).result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
      expect(await answersOf(balancer.base, 6)).toEqual(new Set(['replica-3']));
    });
  });

  (runs ? describe : describe.skip)(`${kind.name} and the requests it hands on`, () => {
    const network = ownNetwork();
    const seen: IncomingMessage[] = [];
    const servers: Server[] = [];
    let balancer: RunningBalancer;

    beforeAll(async () => {
      for (const number of [1, 2, 3])
        for (const port of [41241, 41242]) servers.push(await startEcho(network.replica(number), port, seen));
      balancer = await startBalancer(kind, network);
    });
    afterAll(async () => {
      await balancer?.remove();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    });

    test.each(['base', 'operators'] as const)(
      'HTTP/1.1, with the Host the client asked for, on %s',
      async (door) => {
        seen.length = 0;
        const { host } = new URL(balancer[door]);
        await (await fetch(`${balancer[door]}/a2a/x`, { method: 'POST', body: 'x' })).text();
        const [request] = seen.filter(({ url }) => url === '/a2a/x');
        expect(request?.headers.host).toBe(host);
        expect(request?.httpVersion).toBe('1.1');
        expect(request?.headers.connection ?? 'keep-alive').not.toMatch(/close|upgrade/i);
      },
    );

    // Replicas ask for that with a header of their own (X-Accel-Buffering); the file must not need it.
    test('and hands each piece of an answer on before the next is there', async () => {
      const { body } = await fetch(`${balancer.base}${STREAM}`);
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      const said = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString();
      expect(await said()).toBe('data: 1\n\n');
      held?.write('data: 2\n\n');
      expect(await said()).toBe('data: 2\n\n');
      held?.end();
    });

    test('over connections that are kept', async () => {
      seen.length = 0;
      for (let index = 0; index < 12; index += 1) await (await fetch(`${balancer.base}/a2a/y`)).text();
      const requests = seen.filter(({ url }) => url === '/a2a/y');
      expect(requests).toHaveLength(12);
      expect(new Set(requests.map(({ socket }) => socket)).size).toBeLessThanOrEqual(3);
    });
  });
}

/** What only a slow client or an hour of silence would show. */
test.each([
  ['nginx', /proxy_buffering off;/g, 2],
  ['nginx', /proxy_read_timeout 1h;/g, 2],
  ['haproxy', /timeout (client|server) 1h$/gm, 2],
  ['caddy', /flush_interval -1$/gm, 2],
])('the file of %s has %s, at each door', (name, line, times) => {
  const file = balancerKinds.find((kind) => kind.name === name)?.file ?? '';
  expect(deployFile(file).match(line)).toHaveLength(times);
});

test.each([
  ['nginx', /non_idempotent/],
  ['haproxy', /retry-on (?!conn-failure$)/m],
  ['caddy', /read_timeout \d|lb_retry_match/],
])('the file of %s sends nothing twice and cuts no silence: it has no %s', (name, line) => {
  const file = balancerKinds.find((kind) => kind.name === name)?.file ?? '';
  expect(deployFile(file)).not.toMatch(line);
});

/** A stream whose turn runs on one replica, read through the balancer. */
async function streamOn(replica: ReplicaProcess, base: string): Promise<Recording> {
  const opened = new Recording(replica.client.stream({ text: 'tick 40 100; done' }));
  const taskId = await opened.taskId();
  return new Recording(new A2AClient(base).subscribe(taskId));
}

/** Waits until the balancer has noticed: a replica that leaves does not answer through it any more. */
async function untilLeft(base: string, name: string): Promise<void> {
  for (let absent = 0; absent < 6;) {
    const answer = await fetch(`${base}/readyz`);
    const { replicaId } = (await answer.json()) as { replicaId: string };
    absent = replicaId.startsWith(name) ? 0 : absent + 1;
  }
}

/** Answered with one event; the rest is the test's. */
const STREAM = '/a2a/stream';
let held: ServerResponse | undefined;

async function startEcho(host: string, port: number, seen: IncomingMessage[]): Promise<Server> {
  const server = createServer((request, response) => {
    seen.push(request);
    if (request.url !== STREAM) return void response.end('{}');
    held = response;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: 1\n\n');
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}
