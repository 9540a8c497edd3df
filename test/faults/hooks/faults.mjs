import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createChannel } from './channel.mjs';
import { driverError, fault } from './errors.mjs';
import { wrapHints, payloadsOf } from './hint-faults.mjs';
import { parsePlan, parts } from './plan.mjs';

/** What the rewritten modules call. */
export function createFaults({ plan, mutation, report }) {
  let rules = parsePlan(plan);
  const channel = createChannel({
    setPlan: (text) => void (rules = parsePlan(text)),
    report: () => ({ ...report(), mutation: mutation === '' ? null : mutation }),
  });
  /** Which statement the code below the seam works for. */
  const statements = new AsyncLocalStorage();

  /** The rule that fires at this pass, told to the parent. Every rule counts every pass. */
  const take = (point, taskIds) => {
    const fired = rules.filter((rule) => rule.take(point, taskIds));
    return fired[0] ?? null;
  };
  const pass = async (point, taskIds) => {
    const rule = take(point, taskIds);
    if (rule === null) return null;
    const told = channel.triggered({ failpoint: point, action: rule.action, taskId: taskIds[0] });
    if (rule.action === 'kill' || rule.action === 'stop') await told;
    if (rule.action === 'kill') process.kill(process.pid, 'SIGKILL');
    // Stands still inside this call; goes on at SIGCONT, before any timer.
    if (rule.action === 'stop') process.kill(process.pid, 'SIGSTOP');
    if (rule.action === 'kill' || rule.action === 'hang') await new Promise(() => {});
    if (rule.action === 'delay') await sleep(rule.ms);
    return rule.action;
  };
  /** Calls that were not answered and are still to be carried out, by statement and task. */
  const late = new Map();

  const around = (name, args, call) => {
    if (rules.length === 0 && late.size === 0) return call();
    return statements.run({ name, taskIds: tasksOf(args) }, async () => {
      const place = `${name} ${tasksOf(args)[0]}`;
      const before = await pass(`${name}@before`, tasksOf(args));
      const earlier = late.get(place);
      late.delete(place);
      await earlier?.().catch(() => {});
      if (before === 'late') late.set(place, call);
      if (before === 'error' || before === 'lose' || before === 'late') throw fault(name, before);
      const value = await call();
      const after = await pass(`${name}@after`, [...tasksOf(args), ...tasksOf([value])]);
      if (after === 'lose') throw fault(name, after);
      return value;
    });
  };
  return {
    wrapDatabase(database) {
      const wrapped = Object.keys(parts).map((part) => [part, wrapPart(database[part], part, around)]);
      const hints = wrapHints(database.hints, { pass, take, channel });
      channel.started();
      return { ...database, ...Object.fromEntries(wrapped), hints };
    },
    async beforeCommit() {
      const { name, taskIds } = statements.getStore() ?? { name: '', taskIds: [] };
      if (!name.startsWith('journal.')) return;
      const action = await pass('mysql.beforeCommit', taskIds);
      if (action !== null && action !== 'delay' && action !== 'stop') throw driverError('mysql', action);
    },
    /** Stands below the product's own retries. Synchronous: SQLite's transaction is. */
    driver(provider) {
      const statement = statements.getStore();
      if (statement === undefined) return;
      const rule = take('driver.deadlock', statement.taskIds);
      if (rule === null) return;
      const [taskId] = statement.taskIds;
      const { name } = statement;
      void channel.triggered({ failpoint: 'driver.deadlock', action: rule.action, taskId, statement: name });
      throw driverError(provider, rule.action);
    },
    async push(taskId, post) {
      const before = await pass('push.beforePost', [taskId]);
      if (before === 'error') throw new Error('push.beforePost: an error was asked for');
      if (before === 'twice') await post();
      // What was dropped looks as if it had been accepted.
      const outcome = before === 'drop' ? { kind: 'delivered', status: 200 } : await post();
      const after = await pass('push.afterPost', [taskId]);
      if (after === 'error') throw new Error('push.afterPost: an error was asked for');
      return outcome;
    },
    payloads: payloadsOf,
  };
}

function wrapPart(part, name, around) {
  for (const statement of parts[name])
    if (typeof part[statement] !== 'function')
      throw new Error(`test build: there is no statement ${name}.${statement} any more`);
  return new Proxy(part, {
    get(target, key) {
      const member = Reflect.get(target, key);
      if (!parts[name].includes(key)) return member;
      return (...args) => around(`${name}.${key}`, args, () => Reflect.apply(member, target, args));
    },
  });
}

/** The tasks a statement or its answer is about. */
function tasksOf(values) {
  const found = [];
  for (const value of values) {
    if (typeof value === 'string') found.push(value);
    else if (Array.isArray(value)) found.push(...tasksOf(value));
    else if (typeof value === 'object' && value !== null) {
      const { taskId, taskIds, lease, leases, cursors, swept, claimed } = value;
      const places = [taskId, taskIds, lease, leases, cursors, swept, claimed];
      found.push(...tasksOf(places.filter((each) => each !== undefined)));
    }
  }
  return [...new Set(found)];
}
