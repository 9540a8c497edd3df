import { writeSync } from 'node:fs';
import { register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { failpointRewrites, GLOBAL_NAME } from './failpoint-rewrites.mjs';
import { createFaults } from './faults.mjs';
import { mutationNamed } from './mutations.mjs';
import { applyRewrites } from './rewrites.mjs';

/** A wrong set-up, as the command line says it. */
const EXIT_CONFIG = 78;

const { FAULTS_FAILPOINTS: plan = '', FAULTS_MUTATION: mutation = '' } = process.env;

try {
  const mutations = mutation === '' ? [] : mutationNamed(mutation).rewrites;
  const modules = applyRewrites([...failpointRewrites, ...mutations]);
  const { port1, port2 } = new MessageChannel();
  register('./loader.mjs', import.meta.url, {
    data: { sources: new Map([...modules].map(([url, { source }]) => [url, source])), port: port2 },
    transferList: [port2],
  });
  port1.unref();
  const loaded = new Set();
  const report = () => {
    for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1))
      loaded.add(next.message);
    const told = ([, { module, names }]) => names.map((rewrite) => ({ rewrite, module }));
    const entries = [...modules];
    return {
      applied: entries.filter(([url]) => loaded.has(url)).flatMap(told),
      notLoaded: entries.filter(([url]) => !loaded.has(url)).flatMap(told),
    };
  };
  globalThis[Symbol.for(GLOBAL_NAME)] = createFaults({ plan, mutation, report });
} catch (error) {
  writeSync(2, `test build: ${error.message}\n`);
  process.exit(EXIT_CONFIG);
}
