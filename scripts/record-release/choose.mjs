// Of everything the contract sent: the fewest tests that hold every statement once, whole and in order.

/** A test with more than this is left out where others send the same statements. */
const MOST = { calls: 400, bytes: 60_000, ms: 8_000 };

/** What makes and removes the database the contract runs on. */
const NOT_OURS = /\b(CREATE|ALTER|DROP) (DATABASE|TABLE|INDEX|UNIQUE INDEX)\b|_prisma_migrations/;

/** What makes a connection ready, before its first statement. */
const SESSION = /^\s*(SET SESSION|SET NAMES|SELECT @@|SELECT VERSION\(\))/i;

/** A statement without what differs from call to call: literals, and how many rows or values it has. */
function shapeOf(sql) {
  const shape = sql
    .replace(/'[^']*'/g, '?')
    .replace(/\s+/g, ' ')
    .replace(/(\((?:[^()]|\([^()]*\))*\))((, ?| OR )\1)+/g, '$1..')
    .replace(/\?(, ?\?)+/g, '?..')
    .replace(/\$\d+(, ?\$\d+)+/g, '$..');
  // Several statements in one text: which there are, not how many.
  return [...new Set(shape.split(/; ?/))].join('; ');
}

const PREPARATION = 'before ';

/** SQLite's own numbers of rows come out as they were only where a test has emptied the table itself. */
function namesOldRows(calls) {
  const first = calls.findIndex(({ sql }) => /\browid IN\b/.test(sql));
  return (
    first >= 0 && !calls.slice(0, first).some(({ sql }) => sql === 'DELETE FROM push_notification_configs')
  );
}

/** Calls between tests belong to a preparation, named after the test that follows. */
function preparationAt(calls, at) {
  return `${PREPARATION}${calls.slice(at).find(({ test }) => test !== null)?.test ?? 'the end'}`;
}

const inTransaction = ({ sql }) => /\b(START TRANSACTION|BEGIN|COMMIT|ROLLBACK|FOR UPDATE)\b/i.test(sql);

function testsOf(lines) {
  const tests = new Map();
  for (const line of lines) {
    const test = tests.get(line.test) ?? { name: line.test, lines: [], bytes: 0, shapes: new Set() };
    test.lines.push(line);
    test.bytes += JSON.stringify(line.values).length;
    test.shapes.add(shapeOf(line.sql));
    tests.set(line.test, test);
  }
  return [...tests.values()].map((test) => {
    const { lines: calls } = test;
    const ms = calls.at(-1).endMs - calls[0].startMs;
    const large = calls.length > MOST.calls || test.bytes > MOST.bytes || ms > MOST.ms;
    // Played one after the other, two transactions that overlapped may wait for each other for ever.
    const overlaps = calls.some(
      (call, at) =>
        at > 0 && call.startMs < calls[at - 1].endMs && (inTransaction(call) || inTransaction(calls[at - 1])),
    );
    const alone = !overlaps && !namesOldRows(calls);
    return { ...test, cost: 1_000 + test.bytes + 200 * calls.length, large, alone };
  });
}

/** The cheapest tests that send what is still needed; takes it off the list. */
function cover(tests, needed) {
  const chosen = [];
  for (;;) {
    const worth = (test) => [...test.shapes].filter((shape) => needed.has(shape)).length / test.cost;
    const [best] = tests
      .filter((test) => !chosen.includes(test) && worth(test) > 0)
      .sort((one, other) => worth(other) - worth(one));
    if (best === undefined) return chosen;
    for (const shape of best.shapes) needed.delete(shape);
    chosen.push(best);
  }
}

/**
 * @param {object[]} lines what the recorder wrote
 * @returns {{ statements: string[], sessions: Record<string, unknown[]>, tests: object[], left: string[] }}
 *   `left`: statements that cannot be played without the tests they come from, and those not by themselves.
 */
export function chooseCalls(lines) {
  // Prisma writes the name of the database into its texts.
  const database = lines
    .map(({ sql }) => /\bCREATE DATABASE (\w+)/.exec(sql)?.[1])
    .find((name) => name !== undefined);
  const general = (sql) => (database === undefined ? sql : sql.replaceAll(database, '{database}'));
  const ordered = [...lines].sort((one, other) => one.endMs - other.endMs);
  const sessions = {};
  const calls = ordered.filter((line) => {
    if (SESSION.test(line.sql)) (sessions[line.connection] ??= []).push(line);
    return !SESSION.test(line.sql) && !NOT_OURS.test(line.sql);
  });
  const tests = testsOf(calls.map((line, at) => ({ ...line, test: line.test ?? preparationAt(calls, at) })));
  const needed = new Set(tests.flatMap(({ shapes }) => [...shapes]));
  const alone = tests.filter((test) => test.alone);
  const small = alone.filter(({ large }) => !large);
  // What is prepared for several tests comes with them all.
  const prepared = tests.filter(({ name }) => name.startsWith(PREPARATION));
  for (const { shapes } of prepared) for (const shape of shapes) needed.delete(shape);
  const chosen = [...prepared, ...cover(small, needed), ...cover(alone, needed)];
  const statements = [];
  const numberOf = (sql) => {
    const at = statements.indexOf(sql);
    return at >= 0 ? at : statements.push(sql) - 1;
  };
  const callOf = (line, before) => {
    const waitedMs = before === undefined ? 0 : Math.round(line.startMs - before.endMs);
    const call = [line.connection, numberOf(general(line.sql)), line.values, line.outcome];
    return waitedMs >= 15 ? [...call, waitedMs] : call;
  };
  // What only such tests send that cannot be played alone is sent all the same, on rows that are not there any more.
  const shortest = (shape) =>
    calls
      .filter(({ sql }) => shapeOf(sql) === shape)
      .reduce((one, other) =>
        other.sql.length + JSON.stringify(other.values).length <
        one.sql.length + JSON.stringify(one.values).length
          ? other
          : one,
      );
  const single = [...needed].map(shortest);
  const withoutEffect = ([connection, statement, values], line) => {
    // Without its row it would insert what it only means to change.
    if (/^\s*INSERT\b/i.test(line.sql)) return [];
    needed.delete(shapeOf(line.sql));
    const call = [connection, statement, values, null];
    return inTransaction(line) ? [call, [connection, numberOf('ROLLBACK'), [], null]] : [call];
  };
  const used = new Set(
    [...chosen.flatMap((test) => test.lines), ...single].map(({ connection }) => `${connection}`),
  );
  const recording = {
    sessions: Object.fromEntries(
      Object.entries(sessions)
        .filter(([connection]) => used.has(connection))
        .map(([connection, list]) => [connection, list.map((line) => callOf(line))]),
    ),
    tests: [
      ...tests
        .filter((test) => chosen.includes(test))
        .map((test) => ({
          name: test.name,
          calls: test.lines.map((line, at) => callOf(line, test.lines[at - 1])),
        })),
      { name: 'one by one', calls: single.flatMap((line) => withoutEffect(callOf(line), line)) },
    ],
    statements,
  };
  return { ...recording, left: [...needed] };
}
