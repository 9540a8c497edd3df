import { performance } from 'node:perf_hooks';
import { createTestDatabase, openRaw } from '/tmp/w-B/packages/testing/dist/index.js';
import { createDatabase } from '/tmp/w-B/packages/db/dist/index.js';
import { createSystemClock, createSilentLogger } from '/tmp/w-B/packages/core/dist/index.js';
import { createTaskReader } from '/tmp/w-B/packages/task-store/dist/index.js';
import { createRetention, resolveRetentionOptions } from '/tmp/w-B/packages/retention/dist/index.js';
const TASKS = Number(process.argv[2] ?? 100000);
const target = await createTestDatabase({ provider: 'postgresql' });
const raw = await openRaw(target.url);
const doc = "'{\"id\":\"' || id || '\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}'";
await raw.run(`INSERT INTO tasks (id, tenant, owner, context_id, state, version, created_at, updated_at) SELECT gen_random_uuid()::text, '', 'o' || i % 100, 'c', 'TASK_STATE_COMPLETED', 10, now() - interval '2 days', now() - interval '2 days' FROM generate_series(1, ${TASKS}) i;
INSERT INTO task_snapshots (task_id, version, payload) SELECT id, 10, ${doc} FROM tasks;
INSERT INTO task_events (task_id, seq, kind, payload, write_id, holder, epoch) SELECT id, s, 'statusUpdate', repeat('x', 300), id || s, 'h', 1 FROM tasks, generate_series(1, 10) s;
ANALYZE`);
const db = await createDatabase({ url: target.url, ttlMs: 15000, poolSize: 10 });
const clock = createSystemClock();
const create = (id) => ({ taskId: id, scope: { tenant: '', owner: 'bench' }, contextId: 'c', holder: 'r', ttlMs: 600000, state: 'TASK_STATE_WORKING', statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null, events: [{ kind: 'task', payload: '{}', writeId: id }] });
let n = 0;
async function commits(until) {
  const id = `bench-${n++}`; await db.journal.createTask(create(id));
  const times = []; let version = 1;
  while (!until()) {
    const at = performance.now();
    const r = await db.journal.commit({ taskId: id, expectedVersion: version, holder: 'r', epoch: 1, state: null, statusTimestamp: null, terminal: false, clearsPending: false, snapshot: null, events: [{ kind: 'statusUpdate', payload: 'x'.repeat(300), writeId: `${id}-${version}` }] });
    if (!r.ok) throw new Error('refused'); version += 1; times.push(performance.now() - at);
    await new Promise((go) => setTimeout(go, 2));
  }
  return times;
}
const q = (t, p) => t.sort((a, b) => a - b)[Math.floor(t.length * p)]?.toFixed(2);
const show = (name, t) => console.log(name, 'n', t.length, 'p50', q(t, .5), 'p99', q(t, .99), 'max', q(t, .9999));
const longest = {};
const count = {};
const timed = (name, f) => async (a) => { const at = performance.now(); const r = await f(a); const ms = performance.now() - at; longest[name] = Math.max(longest[name] ?? 0, ms); count[name] = (count[name] ?? 0) + 1; return r; };
const database = { ...db, retention: Object.fromEntries(Object.entries(db.retention).map(([k, f]) => [k, timed(k, f)])) };
const retention = createRetention({ database, reader: createTaskReader({ database: db }), options: resolveRetentionOptions({}, { embedded: false }), clock, logger: createSilentLogger() });
const quiet = async (ms) => { const end = performance.now() + ms; return (await Promise.all(Array.from({ length: 4 }, () => commits(() => performance.now() > end)))).flat(); };
await quiet(2000);
show('commits alone', await quiet(10000));
let done = false;
const at = performance.now();
const beside = Promise.all(Array.from({ length: 4 }, () => commits(() => done)));
const result = await retention.runOnce();
done = true;
console.log('pass s', ((performance.now() - at) / 1000).toFixed(1), JSON.stringify(result), 'longest ms', JSON.stringify(longest), JSON.stringify(count));
show('commits beside', (await beside).flat());
show('commits alone again', await quiet(10000));
for (const k of Object.keys(longest)) { delete longest[k]; delete count[k]; }
const at2 = performance.now();
const second = await retention.runOnce();
console.log('idle pass s', ((performance.now() - at2) / 1000).toFixed(1), JSON.stringify(second), 'longest ms', JSON.stringify(longest), JSON.stringify(count));
await retention.close(); await db.close(); await raw.close(); await target.drop();
