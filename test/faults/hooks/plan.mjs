/** Which failpoints there are, what may happen at each, and the text form of a plan (README.md). */

const STATEMENTS = {
  journal: 'createTask commit openTurn cancel sweep sweepOrphans sweepLeaseless look findOwnWrite',
  leases: 'beat beatOne readLeases release markCancel expireNow nextExpiry clampFuture readClock listLeases',
  log: 'readTask readHeads readEvents readEventsOf findMessage',
  pushConfigs: 'save load remove',
  pushQueue:
    'claimOf claimDue settle storeBody bury claimDeadLetters settleDeadLetter retry list listDeadLetters counts',
  replicas: 'register report list requestPause remove forget',
  retention: 'find compact purge',
  operators: 'findTasks task events countLive countLeaseless',
};

/** The statements of each part of the database that a failpoint stands around. */
export const parts = Object.fromEntries(
  Object.entries(STATEMENTS).map(([part, names]) => [part, names.split(' ')]),
);

const ALWAYS = ['kill', 'stop', 'delay', 'hang'];
const BEFORE = [...ALWAYS, 'error', 'lose', 'late'];
const AFTER = [...ALWAYS, 'lose'];

/** Points that have one place only, and what may happen there. */
const SINGLE = {
  'mysql.beforeCommit': [...ALWAYS, 'deadlock', 'conflict', 'timeout'],
  'driver.deadlock': ['deadlock', 'conflict', 'timeout'],
  'push.beforePost': [...ALWAYS, 'error', 'drop', 'twice'],
  'push.afterPost': [...ALWAYS, 'error'],
  'hints.notify': [...ALWAYS, 'error', 'drop', 'twice', 'shuffle', 'long', 'garbage'],
  'hints.onHint': ['kill', 'stop', 'delay', 'drop', 'twice', 'shuffle'],
};

const RULE = /^([\w.*]+)(?:@(\w+))?=([a-z]+)(?::(\d+))?(?:#(\d+))?(?:%(\d*\.?\d+))?(?:\*(\d+))?(?:\?(.+))?$/;

/**
 * Reads a plan. Each rule says by `take(point, taskIds)` whether it fires at this pass.
 * @throws Error that names the rule and what is wrong with it.
 */
export function parsePlan(text) {
  const lines = text
    .split(';')
    .map((rule) => rule.trim())
    .filter((rule) => rule !== '');
  const seeds = lines.filter((line) => line.startsWith('seed='));
  const seed = Number(seeds[0]?.slice('seed='.length) ?? 1);
  if (seeds.length > 1 || !Number.isSafeInteger(seed))
    throw new Error('failpoints: `seed=` takes one whole number');
  const rules = lines.filter((line) => !line.startsWith('seed='));
  return rules.map((rule, index) => parseRule(rule, createRandom(seed + index)));
}

function parseRule(text, random) {
  const wrong = (why) => new Error(`failpoints: \`${text}\`: ${why}`);
  const found = RULE.exec(text);
  if (!found) throw wrong('is not `point[@before|@after]=action[:ms][#pass][%probability][*times][?task]`');
  const [, name, place, action, ms, pass, share, times, taskId] = found;
  const points = pointsOf(name, place);
  if (points.length === 0) throw wrong(`there is no failpoint \`${name}${place ? `@${place}` : ''}\``);
  for (const point of points)
    if (!actionsAt(point).includes(action))
      throw wrong(`\`${action}\` is not possible at ${point}, only ${actionsAt(point).join(', ')}`);
  if ((action === 'delay') !== (ms !== undefined)) throw wrong('`delay`, and nothing else, takes `:<ms>`');
  const probability = share === undefined ? 1 : Number(share);
  if (!(probability <= 1)) throw wrong('a probability is a number from 0 to 1');
  const from = pass === undefined ? 1 : Number(pass);
  if (from < 1) throw wrong('passes are counted from 1');
  const rule = { text, action, ms: Number(ms ?? 0), probability, from };
  const most = times === undefined ? (pass === undefined ? Infinity : 1) : Number(times);
  return { ...rule, take: createTaking({ points, rule, most, taskId, random }) };
}

/** `part.*` is every statement of a part; a statement without a place means `@before`. */
function pointsOf(name, place) {
  if (name in SINGLE) return place === undefined ? [name] : [];
  const [part, statement, ...rest] = name.split('.');
  const names = parts[part];
  if (!names || rest.length > 0 || !['before', 'after', undefined].includes(place)) return [];
  const chosen = statement === '*' ? names : names.filter((each) => each === statement);
  return chosen.map((each) => `${part}.${each}@${place ?? 'before'}`);
}

function actionsAt(point) {
  return SINGLE[point] ?? (point.endsWith('@after') ? AFTER : BEFORE);
}

function createTaking({ points, rule, most, taskId, random }) {
  let passes = 0;
  let taken = 0;
  return (point, taskIds) => {
    if (!points.includes(point)) return false;
    if (taskId !== undefined && !taskIds.includes(taskId)) return false;
    passes += 1;
    if (passes < rule.from || taken >= most) return false;
    if (rule.probability < 1 && random() >= rule.probability) return false;
    taken += 1;
    return true;
  };
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
