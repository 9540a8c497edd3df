import fc from 'fast-check';

/** JSON as a tree that is taken apart. */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** Strings that parsers, databases and people have stumbled over. */
export const strange: readonly string[] = [
  ...[
    '',
    ' ',
    'x ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\udc00x',
    '\ufeff',
    '\u2028',
    '\n',
    '\r\n',
    '\u001b[31m',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'null',
    'NaN',
    'undefined',
    '-0',
    '1e999',
    '0x10',
    '9007199254740993',
  ],
  ...[
    "' OR 1=1 --",
    '"; DROP TABLE tasks; --',
    '${x}',
    '{{x}}',
    '%s%n',
    '%00',
    '%zz',
    '../..',
    '\\',
    '$1',
    '?',
  ],
  ...[
    'ROLE_USER',
    'TASK_STATE_WORKING',
    'http://127.0.0.1:9/',
    'file:///etc/passwd',
    'http://[::1',
    'aGk=',
    '!',
  ],
  ...[
    '2026-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    'x'.repeat(191),
    'x'.repeat(192),
    '\u{1F600}'.repeat(60),
  ],
  ...['ask', 'done', 'x'.repeat(3_000)],
];

const numbers = [0, -0, -1, 0.5, 1e21, 1e300, -1e300, 2 ** 31, 2 ** 53, Number.MIN_VALUE, 7];

/** Names of fields that mean something somewhere. */
const names = [
  ...[
    'id',
    'taskId',
    'task_id',
    'contextId',
    'messageId',
    'role',
    'parts',
    'text',
    'raw',
    'url',
    'data',
    'kind',
  ],
  ...[
    'metadata',
    'tenant',
    'configuration',
    'historyLength',
    'pageSize',
    'pageToken',
    'status',
    'params',
    'method',
  ],
  ...[
    'taskPushNotificationConfig',
    'token',
    'authentication',
    'referenceTaskIds',
    'extensions',
    'content',
    'owner',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toJSON', 'length', 'then', ''],
];

const value: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, false, [], {}, [[]], [null], { a: 1 }),
  fc.constantFrom(...numbers),
  fc.constantFrom(...strange),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
);

/** A body where none is asked for. */
export const anyBody: fc.Arbitrary<string> = value.map((json) => JSON.stringify(json));

const operation = fc.oneof(
  fc.record({ kind: fc.constant('delete' as const) }),
  fc.record({ kind: fc.constant('replace' as const), value }),
  fc.record({ kind: fc.constant('add' as const), name: fc.constantFrom(...names), value }),
  fc.record({ kind: fc.constant('rename' as const), name: fc.constantFrom(...names) }),
  fc.record({ kind: fc.constant('repeat' as const), times: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ kind: fc.constant('bury' as const), levels: fc.constantFrom(1, 5, 98, 101, 5_000) }),
);

/** One change somewhere in a tree. */
type Mutation = { readonly at: number; readonly operation: Operation };
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** A few changes; most requests are then nearly right, which is what gets far. */
export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({ at: fc.nat(10_000), operation }),
  {
    minLength: 1,
    maxLength: 3,
  },
);

/** Changes to the bytes of a text. */
export const bytesChanged = fc.oneof(
  { weight: 12, arbitrary: fc.constant((body: Buffer): Buffer => body) },
  fc.nat(10_000).map(
    (at) =>
      (body: Buffer): Buffer =>
        body.subarray(0, at % (body.length + 1)),
  ),
  fc
    .tuple(fc.nat(10_000), fc.uint8Array({ minLength: 1, maxLength: 8 }))
    .map(([at, bytes]) => (body: Buffer): Buffer => {
      const place = at % (body.length + 1);
      return Buffer.concat([body.subarray(0, place), bytes, body.subarray(place)]);
    }),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => (): Buffer => Buffer.from(bytes)),
);

/** The tree after the changes, as text: it may be nested deeper than a stack goes. */
export function mutated(tree: object, changes: readonly Mutation[]): string {
  let root = structuredClone(tree) as Json;
  const buried: string[] = [];
  for (const { at, operation: change } of changes) root = apply(root, { at, change, buried });
  let text = JSON.stringify(root);
  for (const [index, deep] of buried.entries()) text = text.replace(`"buried ${index}"`, () => deep);
  return text;
}

interface Apply {
  readonly at: number;
  readonly change: Operation;
  /** What is put in the text in place of a mark, as it is too deep to be made as a value. */
  readonly buried: string[];
}

/** A place in a tree: a field of an object, an element of a list, or the root. */
interface Place {
  readonly holder: Record<string, Json>;
  readonly name: string;
}

function apply(root: Json, { at, change, buried }: Apply): Json {
  const top: Record<string, Json> = { root };
  const places = placesIn(top);
  const { holder, name } = places[at % places.length] ?? { holder: top, name: 'root' };
  const old = holder[name] ?? null;
  switch (change.kind) {
    case 'delete':
      if (Array.isArray(holder)) holder.splice(Number(name), 1);
      else delete holder[name];
      break;
    case 'replace':
      set(holder, name, structuredClone(change.value));
      break;
    case 'add':
      set(
        typeof old === 'object' && old !== null ? (old as Record<string, Json>) : top,
        change.name,
        structuredClone(change.value),
      );
      break;
    case 'rename':
      delete holder[name];
      set(holder, change.name, old);
      break;
    case 'repeat':
      set(
        holder,
        name,
        Array.from({ length: change.times }, () => structuredClone(old)),
      );
      break;
    case 'bury':
      set(holder, name, `buried ${buried.length}`);
      buried.push(`${'{"a":'.repeat(change.levels)}${JSON.stringify(old)}${'}'.repeat(change.levels)}`);
  }
  return top['root'] ?? null;
}

/** Also where the name is `__proto__`: as a field of its own, as JSON makes it. */
function set(holder: Record<string, Json>, name: string, value: Json): void {
  if (Array.isArray(holder) && !/^\d+$/.test(name)) holder.push(value);
  else Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function placesIn(holder: Record<string, Json>): Place[] {
  return Object.entries(holder).flatMap(([name, inner]) => [
    { holder, name },
    ...(typeof inner === 'object' && inner !== null ? placesIn(inner as Record<string, Json>) : []),
  ]);
}
